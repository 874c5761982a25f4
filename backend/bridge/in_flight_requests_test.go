package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// A call of a modern client is cancelled at shutdown, and one that arrives later is cancelled
// immediately.
func TestPlainCallEndsOnShutdown(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	s := newFixture(t, func(ctx context.Context, _ *core.Call, _ core.Sink) (core.Reply, error) {
		close(begun)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return core.Reply{}, context.Cause(ctx)
	})
	go func() {
		<-begun
		s.bridge.close()
	}()
	resp := s.modern("/mcp", "tools/call", "math__add", `"name":"math__add"`)
	if got := onlyMessage(t, resp); !strings.Contains(got, "stopping") {
		t.Errorf("its client was told %s", got)
	}
	if err := <-ended; !errors.Is(err, errStopped) {
		t.Errorf("it ended with %v", err)
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
	s := newFixture(t, func(context.Context, *core.Call, core.Sink) (core.Reply, error) {
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
	waitUntil(t, "every finished call has left the list", func() bool {
		s.bridge.inFlight.mu.Lock()
		defer s.bridge.inFlight.mu.Unlock()
		return len(s.bridge.inFlight.cancel) == 0
	})
}

// The cache key is the clientInfo, not the token.
func TestClientInfoIsDeduplicatedByContent(t *testing.T) {
	var i clientInfoCache
	for range 3 * maxCachedInfos {
		for _, token := range []string{"a", "b"} {
			if c := i.get(token, []byte(`{"name":"x","version":"2"}`)); c != (core.Client{Token: token, Name: "x", Version: "2"}) {
				t.Fatalf("%+v", c)
			}
			i.get(token, []byte(`{"name":"`+itoa(len(i.byInfo))+`"}`))
		}
	}
	if len(i.byInfo) > maxCachedInfos {
		t.Errorf("%d are remembered", len(i.byInfo))
	}
	if c := i.get("a", nil); c != (core.Client{Token: "a"}) {
		t.Errorf("%+v", c)
	}
}
