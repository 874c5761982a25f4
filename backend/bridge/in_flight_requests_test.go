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
	got := make(chan string, 2)
	go func() { got <- onlyMessage(t, s.modern("/mcp", "tools/call", "math__add", `"name":"math__add"`)) }()
	go func() {
		got <- onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, h...))
	}()
	<-started
	<-started
	s.bridge.close()
	for range 2 {
		if m, err := <-got, <-ended; !strings.Contains(m, `"code":"cancelled"`) || !errors.Is(err, errStopped) {
			t.Errorf("%v: %s", err, m)
		}
	}
	late := make(chan error, 1)
	s.bridge.inFlight.add(&responseWriter{keepAliveInterval: time.Hour}, func(cause error) { late <- cause })
	if err := <-late; !errors.Is(err, errStopped) {
		t.Errorf("the late one ended with %v", err)
	}
}

// Each of many calls gets comments when it is silent, and no call stays in the list.
func TestEachSilentCallGetsKeepaliveComments(t *testing.T) {
	answer := make(chan struct{})
	s := newFixture(t, func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		<-answer
		return core.Reply{Result: json.RawMessage(`{"content":[]}`)}, nil
	}, func(o *Options) { o.KeepAlive = 20 * time.Millisecond })
	heard := make(chan bool)
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
		if !<-heard {
			t.Error("a silent call had no comments")
		}
	}
	close(answer)
	eventually.True(t, "every finished call has left the list", func() bool {
		s.bridge.inFlight.mu.Lock()
		defer s.bridge.inFlight.mu.Unlock()
		return len(s.bridge.inFlight.byResponse) == 0
	})
}
