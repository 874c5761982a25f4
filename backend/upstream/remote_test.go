package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/builtin"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
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
		if want := map[core.Era]core.Era{"": core.Legacy, core.Modern: core.Modern}[era]; c.Era() != want {
			t.Errorf("era %s, want %s", c.Era(), want)
		}
		cat := c.Catalog()
		if len(cat.Tools) != 6 || len(cat.Prompts) != 1 || len(cat.Resources) != 1 || len(cat.Warnings) != 0 {
			t.Errorf("%d tools, %v", len(cat.Tools), cat.Warnings)
		}
		if reply := send(t, c, core.Legacy, `{"name":"add","arguments":{"a":2,"b":3}}`); !strings.Contains(string(reply.Result), `"sum":5`) {
			t.Errorf("%s%s", reply.Result, reply.Error)
		}
		if err := c.Ping(context.Background()); err != nil {
			t.Error(err)
		}
		sink := &countSink{want: `"progressToken":"mine"`}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := c.Send(ctx, &core.Call{Era: core.Legacy, Method: "tools/call", Params: json.RawMessage(
			`{"name":"slow","arguments":{},"_meta":{"progressToken":"mine"}}`), ProgressToken: core.Span{Start: 55, End: 61}}, sink)
		cancel()
		if core.CodeOf(err) != core.CodeTimeout || sink.n == 0 {
			t.Errorf("%s: %v after %d notifications", c.Era(), err, sink.n)
		}
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
		if _, reply, err := callScripted(t, 0, call); err != nil || string(reply.Result) != want {
			t.Errorf("%s: %s, %v", name, reply.Result, err)
		}
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
	if core.CodeOf(err) != core.CodeUnavailable {
		t.Error(err)
	}
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
		if _, hint := core.Describe(err); !strings.HasPrefix(hint, want) || want == "" && hint != "" {
			t.Errorf("%q: %q, want %q", value, hint, want)
		}
	}
}

func TestRemoteStatusesBecomeCodes(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]core.Code{401: core.CodeUnauthorized, 403: core.CodeUnauthorized, 429: core.CodeRateLimited, 500: core.CodeUnavailable, 418: core.CodeUnavailable} {
		c, _, err := callScripted(t, 0, func(w http.ResponseWriter, _ string) { w.WriteHeader(status) })
		if core.CodeOf(err) != want || c.Err() != nil {
			t.Errorf("%d: %v, connection %v", status, err, c.Err())
		}
	}
}
