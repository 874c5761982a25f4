package marketplace

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeDialer starts servers by a function.
type fakeDialer struct {
	upstream.Dialer
	try func(ctx context.Context, c *config.Server, as string, use func(upstream.Connection)) upstream.Trial
}

func (d *fakeDialer) Try(ctx context.Context, c *config.Server, as string, use func(upstream.Connection)) upstream.Trial {
	return d.try(ctx, c, as, use)
}

// crashingConn is a server that ends with every call of "crash".
type crashingConn struct {
	upstream.Connection
	ended bool
}

func (c *crashingConn) Send(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	if c.ended = c.ended || call.Name == "crash"; c.ended {
		return core.Reply{}, core.Errorf(core.CodeUnavailable, "the server has ended")
	}
	return core.Reply{Result: []byte(`{}`)}, nil
}

// A crash fails the call that caused it, and not those after it; the number of restarts is limited.
func TestCrashedVersionIsRestarted(t *testing.T) {
	running, starts := 0, 0
	dialer := &fakeDialer{try: func(_ context.Context, _ *config.Server, _ string, use func(upstream.Connection)) upstream.Trial {
		running, starts = running+1, starts+1
		use(&crashingConn{})
		running--
		return upstream.Trial{}
	}}
	i := &comparedInstance{dialer: dialer, server: &config.Server{}, id: "s", text: "s@2"}
	require.NoError(t, i.start(t.Context()))
	send := func(tool string) error {
		_, err := i.Send(t.Context(), &core.Call{Name: tool}, nil)
		return err
	}
	for range maxRestarts {
		err := send("crash")
		assert.Truef(t, err != nil && !errors.Is(err, history.ErrNotSent), "the call that ended the server: %v", err)
		assert.NoError(t, send("other"), "after the restart")
	}
	err := send("crash")
	assert.True(t, err != nil && !errors.Is(err, history.ErrNotSent), err)
	err = send("other")
	assert.True(t, errors.Is(err, history.ErrNotSent) && strings.Contains(err.Error(), "s@2 was restarted 5 times"), err)
	i.stop()
	assert.Equal(t, 0, running)
	assert.Equal(t, maxRestarts+1, starts)
}
