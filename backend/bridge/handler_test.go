package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
)

// Calls of both eras are cancelled at shutdown, and one that arrives later is cancelled
// immediately.
func TestShutdownEndsCallsOfBothEras(t *testing.T) {
	started, ended := make(chan struct{}, 2), make(chan error, 2)
	s := newFixture(t, func(ctx context.Context, _ *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return core.Reply{}, context.Cause(ctx)
	})
	h := s.openSession("/mcp", `{}`)
	replies := []func() string{
		s.postInBackground(modernBody("tools/call", `"name":"math__add"`), versionHeader, core.ModernVersion, methodHeader, "tools/call", nameHeader, "math__add"),
		s.postInBackground(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, h...),
	}
	for range replies {
		eventually.Receive(t, time.Minute, "a call does not begin", started)
	}
	s.bridge.close()
	for _, reply := range replies {
		m, err := reply(), <-ended
		assert.Truef(t, strings.Contains(m, `"code":"cancelled"`) && errors.Is(err, errStopped), "%v: %s", err, m)
	}
	late := make(chan error, 1)
	s.bridge.inFlight.add(&responseWriter{keepAliveInterval: time.Hour}, func(cause error) { late <- cause })
	err := <-late
	assert.ErrorIs(t, err, errStopped, "the late one ended")
}

// Each of many calls gets comments when it is silent, and no call stays in the list.
func TestEachSilentCallGetsKeepaliveComments(t *testing.T) {
	answer := make(chan struct{})
	s := newFixture(t, func(ctx context.Context, _ *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		select {
		case <-answer:
		case <-ctx.Done():
		}
		return core.Reply{Result: json.RawMessage(`{"content":[]}`)}, nil
	}, func(o *Options) { o.KeepAlive = 20 * time.Millisecond })
	heard := make(chan bool, 8)
	for range 8 {
		go func() {
			resp := s.modern("/mcp", "tools/call", "math__add", `"name":"math__add"`)
			some := make([]byte, 3*len(keepAliveComment))
			at := 0
			for at < len(some) {
				n, err := resp.Body.Read(some[at:])
				if at += n; err != nil {
					break
				}
			}
			heard <- string(some) == strings.Repeat(string(keepAliveComment), 3)
			resp.Body.Close()
		}()
	}
	for range 8 {
		assert.True(t, eventually.Receive(t, time.Minute, "a call has no response", heard), "a silent call had no comments")
	}
	close(answer)
	eventually.True(t, "every finished call has left the list", func() bool {
		s.bridge.inFlight.mu.Lock()
		defer s.bridge.inFlight.mu.Unlock()
		return len(s.bridge.inFlight.byResponse) == 0
	})
}
