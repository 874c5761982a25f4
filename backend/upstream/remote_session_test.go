package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// forgetful is a legacy server that can lose its sessions.
type forgetful struct {
	mu       sync.Mutex
	n        int
	session  string
	refuse   bool // it refuses to open new sessions
	tool     string
	sessions atomic.Int64
}

func (f *forgetful) forget(refuse bool, tool string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.session, f.refuse, f.tool = "lost", refuse, tool
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
	}
	switch {
	case m.Method == "initialize" && !f.refuse && r.Header.Get("Mcp-Session-Id") == "":
		f.n++
		f.sessions.Add(1)
		f.session = fmt.Sprint("s", f.n)
		w.Header().Set("Mcp-Session-Id", f.session)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
	case r.Header.Get("Mcp-Session-Id") != f.session || m.Method == "initialize":
		w.WriteHeader(http.StatusNotFound)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/list":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":%q,"inputSchema":{"type":"object"}}]}}`, m.ID, f.tool)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"session":%q}}`, m.ID, f.session)
	}
}

// A lost session fails no call, however many are in flight, and the lists are read again.
func TestLostSessionIsReplacedAndCallsAreServed(t *testing.T) {
	t.Parallel()
	server := &forgetful{tool: "old"}
	changed := make(chan core.Kind, 16)
	c := connectRemote(t, server, "", func(o *Options) {
		o.Remote.Header = nil
		o.OnListChanged = func(k core.Kind) { changed <- k }
	})
	server.forget(false, "new")
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if reply, err := c.Send(ctx, &core.Call{Method: "tools/call"}, nil); err != nil || string(reply.Result) != `{"session":"s2"}` {
				t.Errorf("%s, %v", reply.Result, err)
			}
		})
	}
	calls.Wait()
	if n := server.sessions.Load(); n != 2 || c.Err() != nil {
		t.Errorf("%d sessions, connection %v", n, c.Err())
	}
	select {
	case <-changed:
	case <-time.After(time.Minute):
		t.Fatal("the lists are not read again")
	}
	if tools := c.Catalog().Tools; len(tools) != 1 || tools[0].Name != "new" {
		t.Errorf("%+v", tools)
	}
}

func TestUnreplaceableSessionEndsConnection(t *testing.T) {
	t.Parallel()
	server := &forgetful{tool: "old"}
	c := connectRemote(t, server, "", func(o *Options) { o.Remote.Header = nil })
	server.forget(true, "old")
	if _, err := c.Send(t.Context(), &core.Call{Method: "tools/call"}, nil); core.CodeOf(err) != core.CodeUnavailable {
		t.Error(err)
	}
	<-c.Done()
	if !strings.Contains(c.Err().Error(), "lost the session") {
		t.Error(c.Err())
	}
}

// An interrupted stream is resumed at its last event, after the delay that the server requested.
func TestInterruptedStreamIsResumed(t *testing.T) {
	t.Parallel()
	var resumed []string
	var mu sync.Mutex
	server := &scriptedCallServer{t: t}
	var id string
	server.call = func(w http.ResponseWriter, call string) {
		id = call
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "id: e1\nretry: 60\ndata:\n\n")
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last := r.Header.Get("Last-Event-Id")
		if r.Method != http.MethodGet || last == "" {
			server.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		resumed = append(resumed, last)
		w.Header().Set("Content-Type", "text/event-stream")
		if len(resumed) == 1 {
			fmt.Fprint(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n")
			return
		}
		fmt.Fprintf(w, "id: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"ok\":1}}\n\n", id)
	})
	c := connectRemote(t, h, "", nil)
	began := time.Now()
	reply, err := c.Send(t.Context(), &core.Call{Method: "tools/call"}, nil)
	if err != nil || string(reply.Result) != `{"ok":1}` {
		t.Fatalf("%s, %v", reply.Result, err)
	}
	if fmt.Sprint(resumed) != "[e1 e2]" || time.Since(began) < 120*time.Millisecond {
		t.Errorf("resumed after %v in %s", resumed, time.Since(began))
	}
}

// The effects of a hostile server are bounded, have a clear error, and do not affect the next call.
func TestHostileRemoteServersAreContained(t *testing.T) {
	t.Parallel()
	endless := func(kind, start, chunk string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprintf(w, start, id)
			for block := strings.Repeat(chunk, 1<<16/len(chunk)); ; {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
		}
	}
	plain := func(status int, kind, body string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, one := range map[string]struct {
		answer func(http.ResponseWriter, string)
		want   string
	}{
		"endless body":         {endless("application/json", `{"jsonrpc":"2.0","id":%s,"result":"`, "x"), "larger than the limit"},
		"endless event":        {endless("text/event-stream", `data: {"id":%s,"x":"`, "x"), "larger than the limit"},
		"event of many lines":  {endless("text/event-stream", ": %s\n", "data: xxxxxxxxxxxxxxxxxxxxxxxx\n"), "larger than the limit"},
		"endless error":        {func(w http.ResponseWriter, id string) { w.WriteHeader(500); endless("", "%s", "x")(w, id) }, "larger than the limit"},
		"a page":               {plain(200, "text/html", "<html>"), "text/html, which is not an MCP message"},
		"no content type":      {plain(200, "", ""), "not an MCP message"},
		"broken JSON":          {plain(200, "application/json", `{"jsonrpc":`), "malformed response"},
		"an answer to another": {plain(200, "application/json", `{"jsonrpc":"2.0","id":99999,"result":{}}`), "not an MCP message"},
		"a stream without end": {plain(200, "text/event-stream", ": nothing\n\n"), "no reply before its stream ended"},
		"500":                  {plain(500, "text/plain", "boom"), "HTTP status 500"},
		"redirect to a host": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "http://evil.test/x?y=z")
			w.WriteHeader(307)
		}, "redirects to another origin, http://evil.test, which is not allowed"},
		"redirect to a port": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(308)
		}, "redirects to another origin"},
		"redirect without end": {func(w http.ResponseWriter, _ string) { w.Header().Set("Location", "/mcp"); w.WriteHeader(307) }, "too many redirects"},
		"headers without bound": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
			w.WriteHeader(200)
		}, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			var good atomic.Bool
			c := connectRemote(t, &scriptedCallServer{t: t, call: func(w http.ResponseWriter, id string) {
				if good.Load() {
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"ok":1}}`, id)
					return
				}
				one.answer(w, id)
			}}, "", func(o *Options) { o.MaxMessage = 1 << 20 })
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, err := c.Send(ctx, &core.Call{Method: "tools/call"}, nil)
			message, _ := core.Describe(err)
			if err == nil || !strings.Contains(message, one.want) {
				t.Errorf("named %q, %v", message, err)
			}
			if e, ok := errors.AsType[*core.Error](err); ok && e.Unsent {
				t.Error("it was sent, and counts as if it might be made again")
			}
			good.Store(true)
			if reply, err := c.Send(ctx, &core.Call{Method: "tools/call"}, nil); err != nil || string(reply.Result) != `{"ok":1}` {
				t.Errorf("not recovered: %s, %v", reply.Result, err)
			}
		})
	}
}

func TestInvalidHeaderNameExcludesTool(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"object","properties":{"c":{"type":"integer","x-mcp-header":"N"}}}}}}`: "",
		`{"inputSchema":{"properties":{"a":{"type":"number","x-mcp-header":"Region"}}}}`:                                                                                "not a string, integer or boolean",
		`{"inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}}`:                                                                                   "not a valid header name",
		`{"inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}}`:                                            "used twice",
		`{"inputSchema":"x-mcp-header"}`: "",
	} {
		if _, reason := parseHeaderParams([]byte(raw)); (reason == "") != (want == "") || !strings.Contains(reason, want) {
			t.Errorf("%s: %q", raw, reason)
		}
	}
	list, _ := parseHeaderParams([]byte(`{"inputSchema":{"properties":{"b":{"properties":{"c":{"type":"integer","x-mcp-header":"n"}}}}}}`))
	if len(list) != 1 || list[0].header != "Mcp-Param-N" || strings.Join(list[0].path, ".") != "b.c" {
		t.Errorf("%+v", list)
	}
	for arguments, want := range map[string]string{`{"b":{"c":42}}`: "42", `{"b":{"c":1e3}}`: "1000", `{"b":{"c":null}}`: "", `{"b":1}`: "", `{}`: "", `{"b":{"c":true}}`: "true"} {
		if got, _ := headerArgument([]byte(arguments), []string{"b", "c"}); got != want {
			t.Errorf("%s: %q", arguments, got)
		}
	}
}

// The known era is tried first, then the other one.
func TestKnownEraIsTriedFirst(t *testing.T) {
	t.Parallel()
	var first atomic.Pointer[string]
	for _, modern := range []bool{true, false} {
		first.Store(nil)
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var m struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.Unmarshal(body, &m)
			first.CompareAndSwap(nil, &m.Method)
			w.Header().Set("Content-Type", "application/json")
			switch {
			case m.Method == "server/discover" && modern:
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`, m.ID)
			case m.Method == "initialize" && !modern:
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, m.ID)
			case m.ID == nil:
				w.WriteHeader(http.StatusAccepted)
			default:
				w.WriteHeader(http.StatusBadRequest)
			}
		})
		c := connectRemote(t, h, "", func(o *Options) { o.First = core.Modern })
		if (c.Era() == core.Modern) != modern || *first.Load() != "server/discover" {
			t.Errorf("%s after %s", c.Era(), *first.Load())
		}
	}
}
