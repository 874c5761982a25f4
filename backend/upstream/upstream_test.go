package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// testProcess runs a test server as a real process: this test binary.
type testProcess struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   io.Reader
	done  chan struct{}
}

func (p *testProcess) Stdin() io.WriteCloser { return p.stdin }
func (p *testProcess) Stdout() io.Reader     { return p.out }
func (p *testProcess) Done() <-chan struct{} { return p.done }
func (p *testProcess) Stop(context.Context) error {
	_ = p.cmd.Process.Kill()
	<-p.done
	return nil
}

func spawn(mode string) func(context.Context) (Pipe, error) {
	return func(context.Context) (Pipe, error) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), mcptest.Env+"="+mode)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		cmd.Stdout = w
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		w.Close()
		p := &testProcess{cmd: cmd, stdin: stdin, out: r, done: make(chan struct{})}
		go func() {
			defer close(p.done)
			_ = cmd.Wait()
		}()
		return p, nil
	}
}

func inProcess(mode string) func(context.Context) (Pipe, error) {
	return func(context.Context) (Pipe, error) { return mcptest.Start(mode) }
}

func connect(t testing.TB, o Options) *Conn {
	t.Helper()
	o.Server = "test"
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := Connect(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func send(t testing.TB, c *Conn, era core.Era, params string) core.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	call := &core.Call{Era: era, Method: "tools/call", Params: json.RawMessage(params), Client: core.Client{Name: "tester", Version: "2"}}
	reply, err := c.Send(ctx, call, nil)
	if err != nil {
		t.Fatal(err)
	}
	if call.Instance != c.Peer().ID {
		t.Errorf("instance %q, want %q", call.Instance, c.Peer().ID)
	}
	return reply
}

func TestConnectDetectsServerEra(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]core.Era{
		"echo": core.Legacy, "legacy": core.Legacy, "legacy-exit": core.Legacy, "banner": core.Legacy,
		"modern": core.Modern, "modern-exit": core.Modern,
	} {
		for kind, dial := range map[string]func(context.Context) (Pipe, error){"pipe": inProcess(mode), "process": spawn(mode)} {
			t.Run(mode+"/"+kind, func(t *testing.T) {
				c := connect(t, Options{Dial: dial})
				if c.Peer().Era != want {
					t.Errorf("era %s, want %s", c.Peer().Era, want)
				}
				if tools := c.Catalog().Tools; len(tools) != 1 || tools[0].Name != "echo" {
					t.Errorf("tools %v", tools)
				}
				if c.Catalog().Instructions != "Be kind." || !strings.Contains(string(c.Catalog().Info), "mcptest") {
					t.Errorf("catalog %+v", c.Catalog())
				}
				if err := c.Ping(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestDualEraServerConnectsInRequestedEra(t *testing.T) {
	t.Parallel()
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		c := connect(t, Options{Dial: inProcess("echo"), Era: era})
		if c.Peer().Era != era {
			t.Errorf("era %s, want %s", c.Peer().Era, era)
		}
		reply := send(t, c, era, `{"name":"echo","arguments":{"n":9007199254740993}}`)
		if !strings.Contains(string(reply.Result), `"structuredContent":{"n":9007199254740993}`) {
			t.Error(string(reply.Result))
		}
	}
}

func TestSilentServerTimesOutAtDeadline(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := Connect(ctx, Options{Server: "test", Dial: spawn("silent")})
	if took := time.Since(began); core.CodeOf(err) != core.CodeTimeout || took < 300*time.Millisecond || took > 30*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}

func TestExitingServerFailsStart(t *testing.T) {
	t.Parallel()
	if _, err := Connect(context.Background(), Options{Server: "test", Dial: spawn("exit")}); core.CodeOf(err) != core.CodeUnavailable {
		t.Error(err)
	}
}

func TestCatalogAndResultsAreUnchanged(t *testing.T) {
	t.Parallel()
	c := connect(t, Options{Dial: spawn("quirky")})
	cat := c.Catalog()
	if len(cat.Tools) != 2 || string(cat.Tools[0].Raw) != mcptest.QuirkyTool || string(cat.Info) != mcptest.QuirkyInfo {
		t.Errorf("catalog %s, info %s", cat.Tools[0].Raw, cat.Info)
	}
	if string(cat.Capabilities) != `{"tasks":{"list":{}},"tools":{}}` {
		t.Error(string(cat.Capabilities))
	}
	if reply := send(t, c, core.Legacy, `{"name":"odd"}`); string(reply.Result) != mcptest.QuirkyResult {
		t.Error(string(reply.Result))
	}
}

func TestListsAreLimited(t *testing.T) {
	t.Parallel()
	c := connect(t, Options{Dial: inProcess("pages")})
	if tools := c.Catalog().Tools; len(tools) != 1000 || tools[999].Name != "t999" || len(c.Catalog().Warnings) != 1 {
		t.Errorf("%d tools, %v", len(tools), c.Catalog().Warnings)
	}
	c = connect(t, Options{Dial: inProcess("cursor-loop")})
	if w := c.Catalog().Warnings; len(c.Catalog().Tools) != 1 || len(w) == 0 || !strings.Contains(w[0], "same cursor twice") {
		t.Errorf("%d tools, %v", len(c.Catalog().Tools), w)
	}
}

func TestMalformedToolIsSkipped(t *testing.T) {
	t.Parallel()
	c := connect(t, Options{Dial: inProcess("malformed-tools")})
	w := c.Catalog().Warnings
	if len(c.Catalog().Tools) != 8 || len(w) != 1 || !strings.HasPrefix(w[0], "only 8 of 9 tools are used: entry 5 ") {
		t.Errorf("%d tools, %v", len(c.Catalog().Tools), w)
	}
}

func TestListChangeDuringStartIsNotLost(t *testing.T) {
	t.Parallel()
	changes := make(chan core.Kind, 16)
	c := connect(t, Options{Dial: inProcess("early-change"), OnListChanged: func(k core.Kind) { changes <- k }})
	if kind := <-changes; kind != core.Tools || len(c.Catalog().Tools) != 2 {
		t.Errorf("%s, %d tools", kind, len(c.Catalog().Tools))
	}
}

func TestModernServerListChangesAreReceived(t *testing.T) {
	t.Parallel()
	changes, updates := make(chan core.Kind, 16), make(chan string, 16)
	c := connect(t, Options{Dial: inProcess("modern-change"), OnListChanged: func(k core.Kind) { changes <- k },
		OnNotification: func(method string, params json.RawMessage) { updates <- method + " " + string(params) }})
	send(t, c, core.Modern, `{"name":"echo"}`)
	if kind := receive(t, changes); kind != core.Tools || len(c.Catalog().Tools) != 2 {
		t.Errorf("%s, %d tools", kind, len(c.Catalog().Tools))
	}
	// A client of either era subscribes by this request.
	subscribe := &core.Call{Era: core.Legacy, Method: "resources/subscribe", Name: "test://a", Params: json.RawMessage(`{"uri":"test://a"}`)}
	if reply, err := c.Send(context.Background(), subscribe, nil); err != nil || string(reply.Result) != "{}" {
		t.Fatal(reply, err)
	}
	if got := receive(t, updates); !strings.Contains(got, `notifications/resources/updated {"uri":"test://a"`) {
		t.Error(got)
	}
}

// receive returns the next value of c, and fails the test if none arrives.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	return eventually.Receive(t, 30*time.Second, "nothing came", c)
}

func TestEraFieldsAreTranslated(t *testing.T) {
	t.Parallel()
	c := &Conn{o: Options{ClientInfo: []byte(`{"name":"drawbridge"}`), Capabilities: []byte(`{}`)}}
	const version, caps = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":`
	who := `"io.modelcontextprotocol/clientInfo":{"name":"a\"b","version":"1"}`
	call := &core.Call{Client: core.Client{Name: `a"b`, Version: "1"}, Capabilities: []byte(`{"roots":{}}`)}
	added := version + "," + who + "," + caps + `{"roots":{}}`
	for params, want := range map[string]string{
		``:                          `{"_meta":{` + added + `}}`,
		`{ }`:                       `{"_meta":{` + added + `}}`,
		`{"name":"x"}`:              `{"_meta":{` + added + `},"name":"x"}`,
		`{"_meta":{},"name":"x"}`:   `{"_meta":{` + added + `},"name":"x"}`,
		`{"_meta":null}`:            `{"_meta":{` + added + `}}`,
		`{"_meta":{"a":1.0}}`:       `{"_meta":{"a":1.0,` + added + `}}`,
		`{"_meta":{` + added + `}}`: `{"_meta":{` + added + `}}`,
		`{"_meta":{` + who + `}}`:   `{"_meta":{` + who + `,` + version + `,` + caps + `{"roots":{}}}}`,
	} {
		if got := string(c.addModernMeta([]byte(params), call)); got != want {
			t.Errorf("%s\n got %s\nwant %s", params, got, want)
		}
	}
	for params, want := range map[string]string{
		`{"_meta":{` + added + `},"n":1.0}`:                     `{"_meta":{},"n":1.0}`,
		`{"_meta":{"a":1,` + added + `, "progressToken":"t"}}`:  `{"_meta":{"a":1,"progressToken":"t"}}`,
		`{"_meta":{"progressToken" : 7 ,` + added + `},"n":1}`:  `{"_meta":{"progressToken" : 7},"n":1}`,
		`{"x":[1],"_meta":{"progressToken":7}}`:                 `{"x":[1],"_meta":{"progressToken":7}}`,
		`{"_meta":{"io.modelcontextprotocol/related-task":{}}}`: `{"_meta":{"io.modelcontextprotocol/related-task":{}}}`,
		`{"name":"x"}`: `{"name":"x"}`,
	} {
		if got := string(removeModernMeta([]byte(params))); got != want {
			t.Errorf("%s\n got %s\nwant %s", params, got, want)
		}
		p, err := wire.ScanParams([]byte(params))
		if err != nil {
			t.Fatal(err)
		}
		left, token := removeModernMetaAt([]byte(params), p.Meta, p.ProgressToken)
		if q, _ := wire.ScanParams([]byte(want)); string(left) != want || token != q.ProgressToken {
			t.Errorf("%s\n got %s, the token at %v and not at %v", params, left, token, q.ProgressToken)
		}
	}
}

func TestCallsWorkAcrossEras(t *testing.T) {
	t.Parallel()
	const modernParams = `{"name":"echo","arguments":{"a":1},"_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	for _, mode := range []string{"legacy", "modern"} {
		c := connect(t, Options{Dial: inProcess(mode)})
		for era, params := range map[core.Era]string{core.Legacy: `{"name":"echo","arguments":{"a":1}}`, core.Modern: modernParams} {
			reply := send(t, c, era, params)
			if !strings.Contains(string(reply.Result), `"structuredContent":{"a":1}`) || strings.Contains(string(reply.Result), "resultType") != (mode == "modern") {
				t.Errorf("%s client, %s server: %s%s", era, mode, reply.Result, reply.Error)
			}
		}
	}
}

// A modern client cannot fetch a task of 2025-11-25, so it does not create one.
func TestModernCallCreatesNoLegacyTask(t *testing.T) {
	t.Parallel()
	const params, meta = `{"task":{},"name":"slow_compute","arguments":{"seconds":0}`, `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	c := connect(t, Options{Dial: inProcess("tasks"), Era: core.Legacy})
	if reply := send(t, c, core.Legacy, params+"}"); !strings.Contains(string(reply.Result), `"task":{"taskId"`) {
		t.Errorf("legacy: %s%s", reply.Result, reply.Error)
	}
	if reply := send(t, c, core.Modern, params+meta); !strings.Contains(string(reply.Result), `"content":[`) {
		t.Errorf("modern: %s%s", reply.Result, reply.Error)
	}
}

// A modern request with complete _meta is forwarded to a modern server unchanged.
func TestCompleteRequestIsForwardedUnchanged(t *testing.T) {
	t.Parallel()
	c := connect(t, Options{Dial: inProcess("modern")})
	params := `{"name":"echo","arguments":{"a":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`
	for _, introduced := range []bool{true, false} {
		reply, err := c.Send(t.Context(), &core.Call{Era: core.Modern, Method: "tools/call", Params: []byte(params), HasModernMeta: introduced}, nil)
		if err != nil || !strings.Contains(string(reply.Result), `"structuredContent":{"a":1}`) {
			t.Errorf("%v: %s%s", err, reply.Result, reply.Error)
		}
	}
	// For a legacy request, HasModernMeta has no effect.
	reply, err := c.Send(t.Context(), &core.Call{Era: core.Legacy, Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{"a":1}}`), HasModernMeta: true}, nil)
	if err != nil || !strings.Contains(string(reply.Result), `"structuredContent":{"a":1}`) {
		t.Errorf("%v: %s%s", err, reply.Result, reply.Error)
	}
}

func TestProgressKeepsClientTokenAcrossEras(t *testing.T) {
	t.Parallel()
	c := connect(t, Options{Dial: inProcess("progress")})
	params := `{"arguments":{"n":3},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":"mine"}}`
	sink := &countSink{want: `"progressToken":"mine"`}
	if _, err := c.Send(context.Background(), &core.Call{Era: core.Modern, Method: "tools/call", Params: json.RawMessage(params)}, sink); err != nil {
		t.Fatal(err)
	}
	if sink.n != 3 {
		t.Errorf("%d notifications with the client's token", sink.n)
	}
}

// countSink counts the notifications that contain want, and calls then after each of them.
type countSink struct {
	want string
	then func() // may be nil
	n    int
}

func (s *countSink) Notify(_ string, params json.RawMessage) {
	if !strings.Contains(string(params), s.want) {
		return
	}
	s.n++
	if s.then != nil {
		s.then()
	}
}

func (s *countSink) Ask(context.Context, string, json.RawMessage) (core.Reply, error) {
	return core.Reply{}, errors.New("nobody to ask")
}

func TestConnectionEndsWhenServerExits(t *testing.T) {
	t.Parallel()
	c := connect(t, Options{Dial: spawn("exit-call")})
	_, err := c.Send(context.Background(), &core.Call{Method: "tools/call"}, nil)
	if core.CodeOf(err) != core.CodeUnavailable {
		t.Error(err)
	}
	<-c.Done()
	if c.Err() == nil {
		t.Error("no reason")
	}
}

func TestCloseIsIdempotentAndLeaksNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"echo", "stubborn", "stops-reading"} {
		t.Run(mode, func(t *testing.T) {
			c := connect(t, Options{Dial: spawn(mode)})
			for range 3 {
				if err := c.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}
			<-c.Done()
		})
	}
}

func TestFailedStartReportsServerResponse(t *testing.T) {
	t.Parallel()
	_, err := Connect(context.Background(), Options{Server: "test", Dial: inProcess("modern"), Era: core.Legacy})
	if err == nil || !strings.Contains(fmt.Sprint(err), "unsupported protocol version") {
		t.Error(err)
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
		c := connectRemote(t, h, "", func(o *Options) { o.FirstEra = core.Modern })
		if (c.Peer().Era == core.Modern) != modern || *first.Load() != "server/discover" {
			t.Errorf("%s after %s", c.Peer().Era, *first.Load())
		}
	}
}
