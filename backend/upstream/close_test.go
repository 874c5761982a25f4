package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// stubbornServer is a server whose Stop does not end before its ctx is done.
type stubbornServer struct {
	*pipeServer
	killed chan struct{}
}

func (s *stubbornServer) Stop(ctx context.Context) error {
	<-ctx.Done()
	close(s.killed)
	return s.pipeServer.Stop(ctx)
}

// At the end of the stop limit of a shutdown, the servers that still run are killed at once. They
// do not keep the rest of their timeouts, within which the daemon exits.
func TestCloseKillsServerWhenItsContextEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := &stubbornServer{newPipeServer(func(method string, _ json.RawMessage) string {
		if method == "initialize" {
			return `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`
		}
		return ""
	}), make(chan struct{})}
	c, err := Connect(t.Context(), Options{Server: "test", Dial: func(context.Context) (Pipe, error) { return s, nil }})
	require.NoError(t, err)
	limit := errors.New("the stop limit")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(limit)
	assert.ErrorIs(t, c.Close(ctx), limit, "Close returned")
	<-s.killed
	assert.NoError(t, c.Close(context.Background()))
}
