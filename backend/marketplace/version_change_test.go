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
	if err := i.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	send := func(tool string) error {
		_, err := i.Send(t.Context(), &core.Call{Name: tool}, nil)
		return err
	}
	for range maxRestarts {
		if err := send("crash"); err == nil || errors.Is(err, history.ErrNotSent) {
			t.Errorf("the call that ended the server: %v", err)
		}
		if err := send("other"); err != nil {
			t.Errorf("after the restart: %v", err)
		}
	}
	if err := send("crash"); err == nil || errors.Is(err, history.ErrNotSent) {
		t.Error(err)
	}
	if err := send("other"); !errors.Is(err, history.ErrNotSent) || !strings.Contains(err.Error(), "s@2 was restarted 5 times") {
		t.Error(err)
	}
	i.stop()
	if running != 0 || starts != maxRestarts+1 {
		t.Errorf("%d starts, %d still run", starts, running)
	}
}
