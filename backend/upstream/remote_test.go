package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/builtin"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func connectRemote(t *testing.T, h http.Handler, era core.Era, change func(*Options)) *Conn {
	t.Helper()
	server := httptest.NewServer(h)
	o := Options{Remote: &Remote{URL: server.URL + "/mcp", Header: http.Header{"x-test": {"secret"}}}, Era: era}
	if change != nil {
		change(&o)
	}
	c := connect(t, o)
	t.Cleanup(func() { // runs before the connection is closed, which needs the server
		_ = c.Close(context.Background())
		server.Close()
	})
	return c
}

func TestRemoteServerWorksInBothEras(t *testing.T) {
	t.Parallel()
	for _, era := range []core.Era{"", core.Modern} {
		c := connectRemote(t, builtin.DemoHandler(), era, nil)
		assert.Equal(t, map[core.Era]core.Era{"": core.Legacy, core.Modern: core.Modern}[era], c.Peer().Era)
		cat := c.Catalog()
		if len(cat.Tools) != 6 || len(cat.Prompts) != 1 || len(cat.Resources) != 1 || len(cat.Warnings) != 0 {
			t.Errorf("%d tools, %v", len(cat.Tools), cat.Warnings)
		}
		assert.Contains(t, string(send(t, c, core.Legacy, `{"name":"add","arguments":{"a":2,"b":3}}`).Result), `"sum":5`)
		assert.NoError(t, c.Ping(context.Background()))
		ctx, cancel := context.WithCancelCause(context.Background())
		sink := &countSink{want: `"progressToken":"mine"`, then: func() { cancel(core.Errorf(core.CodeTimeout, "enough")) }}
		_, err := c.Send(ctx, &core.Call{Era: core.Legacy, Method: "tools/call", Params: json.RawMessage(
			`{"name":"slow","arguments":{},"_meta":{"progressToken":"mine"}}`), ProgressToken: core.Span{Start: 55, End: 61}}, sink)
		cancel(nil)
		require.Equal(t, core.CodeTimeout, core.CodeOf(err))
		require.NotEqual(t, 0, sink.n)
	}
}

// scriptedCallServer is a legacy server with a scripted response to tools/call.
type scriptedCallServer struct {
	t    *testing.T
	call func(w http.ResponseWriter, id string)
}

func (s *scriptedCallServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.Unmarshal(body, &m); err != nil {
		s.t.Error(err)
	}
	if r.Header.Get("X-Test") != "secret" {
		s.t.Error("header is missing")
	}
	if m.Method != "initialize" && (r.Header.Get("Mcp-Session-Id") != "s1" || r.Header.Get("Mcp-Protocol-Version") != "2025-06-18") {
		s.t.Errorf("%s has headers %v", m.Method, r.Header)
	}
	w.Header().Set("Content-Type", "application/json")
	answer := func(result string) { fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result) }
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "s1")
		answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
	case "tools/list":
		answer(`{"tools":[]}`)
	case "tools/call":
		s.call(w, string(m.ID))
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func callScripted(t *testing.T, max int, call func(w http.ResponseWriter, id string)) (*Conn, core.Reply, error) {
	t.Helper()
	c := connectRemote(t, &scriptedCallServer{t: t, call: call}, "", func(o *Options) { o.MaxMessage = max })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	reply, err := c.Send(ctx, &core.Call{Method: "tools/call"}, nil)
	return c, reply, err
}

func TestRemoteResultsAreUnchangedInJSONAndEvents(t *testing.T) {
	t.Parallel()
	const want = `{"z":1.0,"n":9007199254740993,"dup":1,"dup":2}`
	for name, call := range map[string]func(w http.ResponseWriter, id string){
		"json": func(w http.ResponseWriter, id string) {
			fmt.Fprintf(w, "{\n\"jsonrpc\":\"2.0\",\n\"id\":%s,\n\"result\":%s}\r\n", id, strings.ReplaceAll(want, ",", ",\r\n"))
		},
		"events": func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			fmt.Fprintf(w, ": hello\r\n\r\nid: 7\r\ndata:\r\n\r\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata: \"result\":%s}\n\n", id, want)
		},
	} {
		_, reply, err := callScripted(t, 0, call)
		assert.Truef(t, err == nil && string(reply.Result) == want, "%s: %s, %v", name, reply.Result, err)
	}
}

func TestRemoteRedirectsStayOnOrigin(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other origin was asked") }))
	defer other.Close()
	_, _, err := callScripted(t, 0, func(w http.ResponseWriter, _ string) {
		w.Header().Set("Location", other.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	assert.Equal(t, core.CodeUnavailable, core.CodeOf(err))
}

// Retry-After is included in the error, as seconds or as a date.
func TestRetryAfterOfRemoteServerReachesClient(t *testing.T) {
	for value, want := range map[string]string{
		"3": "Try again in 3s.", time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat): "Try again in 1m",
		"999999": "Try again in 1h0m0s.", "": "", "soon": "", "-5": "",
	} {
		_, _, err := callScripted(t, 0, func(w http.ResponseWriter, _ string) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		_, hint := core.Describe(err)
		assert.Truef(t, strings.HasPrefix(hint, want) && !(want == "" && hint != ""), "%q: %q, want %q", value, hint, want)
	}
}

func TestRemoteStatusesBecomeCodes(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]core.Code{401: core.CodeUnauthorized, 403: core.CodeUnauthorized, 429: core.CodeRateLimited, 500: core.CodeUnavailable, 418: core.CodeUnavailable} {
		c, _, err := callScripted(t, 0, func(w http.ResponseWriter, _ string) { w.WriteHeader(status) })
		require.Equalf(t, want, core.CodeOf(err), "%d", status)
		require.NoErrorf(t, c.Err(), "%d", status)
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
		"an answer to another": {plain(200, "application/json", `{"jsonrpc":"2.0","id":99999,"result":{}}`), "a response with the id 99999, which no request has"},
		"a stream without end": {plain(200, "text/event-stream", ": nothing\n\n"), "no reply before its stream ended"},
		"500":                  {plain(500, "text/plain", "boom"), "HTTP status 500"},
		"redirect to a host": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "http://evil.test/x?y=z")
			w.WriteHeader(307)
		}, "redirected to another origin, http://evil.test, which is not allowed"},
		"redirect to a port": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(308)
		}, "redirected to another origin"},
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
			assert.Error(t, err)
			assert.Contains(t, message, one.want)
			e, ok := errors.AsType[*core.Error](err)
			assert.False(t, ok && e.Unsent, "it was sent, and counts as if it might be made again")
			good.Store(true)
			reply, err := c.Send(ctx, &core.Call{Method: "tools/call"}, nil)
			assert.Truef(t, err == nil && string(reply.Result) == `{"ok":1}`, "not recovered: %s, %v", reply.Result, err)
		})
	}
}
