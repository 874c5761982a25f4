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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, c.Close(context.Background()))
	})
	return c
}

func send(t testing.TB, c *Conn, era core.Era, params string) core.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	call := &core.Call{Era: era, Method: "tools/call", Params: json.RawMessage(params), Client: core.Client{Name: "tester", Version: "2"}}
	reply, err := c.Send(ctx, call, nil)
	require.NoError(t, err)
	assert.Equal(t, c.Peer().ID, call.Instance)
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
				assert.Equal(t, want, c.Peer().Era)
				tools := c.Catalog().Tools
				assert.Truef(t, len(tools) == 1 && tools[0].Name == "echo", "tools %v", tools)
				if c.Catalog().Instructions != "Be kind." || !strings.Contains(string(c.Catalog().Info), "mcptest") {
					t.Errorf("catalog %+v", c.Catalog())
				}
				assert.NoError(t, c.Ping(context.Background()))
			})
		}
	}
}

func TestDualEraServerConnectsInRequestedEra(t *testing.T) {
	t.Parallel()
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		c := connect(t, Options{Dial: inProcess("echo"), Era: era})
		assert.Equal(t, era, c.Peer().Era)
		reply := send(t, c, era, `{"name":"echo","arguments":{"n":9007199254740993}}`)
		assert.Contains(t, string(reply.Result), `"structuredContent":{"n":9007199254740993}`)
	}
}

func TestSilentServerTimesOutAtDeadline(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := Connect(ctx, Options{Server: "test", Dial: spawn("silent")})
	took := time.Since(began)
	assert.Truef(t, core.CodeOf(err) == core.CodeTimeout && took >= 300*time.Millisecond && took <= 30*time.Second, "%v after %v", err, took)
}

func TestExitingServerFailsStart(t *testing.T) {
	t.Parallel()
	_, err := Connect(context.Background(), Options{Server: "test", Dial: spawn("exit")})
	assert.Equal(t, core.CodeUnavailable, core.CodeOf(err))
}

func TestCatalogAndResultsAreUnchanged(t *testing.T) {
	t.Parallel()
	c := connect(t, Options{Dial: spawn("quirky")})
	cat := c.Catalog()
	if len(cat.Tools) != 2 || string(cat.Tools[0].Raw) != mcptest.QuirkyTool || string(cat.Info) != mcptest.QuirkyInfo {
		t.Errorf("catalog %s, info %s", cat.Tools[0].Raw, cat.Info)
	}
	assert.Equal(t, `{"tasks":{"list":{}},"tools":{}}`, string(cat.Capabilities))
	assert.Equal(t, mcptest.QuirkyResult, string(send(t, c, core.Legacy, `{"name":"odd"}`).Result))
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
	reply, err := c.Send(context.Background(), subscribe, nil)
	require.Truef(t, err == nil && string(reply.Result) == "{}", "%v %v", reply, err)
	assert.Contains(t, receive(t, updates), `notifications/resources/updated {"uri":"test://a"`)
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
		assert.Equal(t, want, string(c.addModernMeta([]byte(params), call)), params)
	}
	for params, want := range map[string]string{
		`{"_meta":{` + added + `},"n":1.0}`:                     `{"_meta":{},"n":1.0}`,
		`{"_meta":{"a":1,` + added + `, "progressToken":"t"}}`:  `{"_meta":{"a":1,"progressToken":"t"}}`,
		`{"_meta":{"progressToken" : 7 ,` + added + `},"n":1}`:  `{"_meta":{"progressToken" : 7},"n":1}`,
		`{"x":[1],"_meta":{"progressToken":7}}`:                 `{"x":[1],"_meta":{"progressToken":7}}`,
		`{"_meta":{"io.modelcontextprotocol/related-task":{}}}`: `{"_meta":{"io.modelcontextprotocol/related-task":{}}}`,
		`{"name":"x"}`: `{"name":"x"}`,
	} {
		assert.Equal(t, want, string(removeModernMeta([]byte(params))), params)
		p, err := wire.ScanParams([]byte(params))
		require.NoError(t, err)
		left, token := removeModernMetaAt([]byte(params), p.Meta, p.ProgressToken)
		q, _ := wire.ScanParams([]byte(want))
		assert.Truef(t, string(left) == want && token == q.ProgressToken, "%s\n got %s, the token at %v and not at %v", params, left, token, q.ProgressToken)
	}
}

func TestCallsWorkAcrossEras(t *testing.T) {
	t.Parallel()
	const modernParams = `{"name":"echo","arguments":{"a":1},"_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	for _, mode := range []string{"legacy", "modern"} {
		c := connect(t, Options{Dial: inProcess(mode)})
		for era, params := range map[core.Era]string{core.Legacy: `{"name":"echo","arguments":{"a":1}}`, core.Modern: modernParams} {
			reply := send(t, c, era, params)
			assert.Containsf(t, string(reply.Result), `"structuredContent":{"a":1}`, "%v %v", era, reply.Error)
			assert.Equalf(t, mode == "modern", strings.Contains(string(reply.Result), "resultType"), "%v %v", era, reply.Error)
		}
	}
}

// A modern client cannot fetch a task of 2025-11-25, so it does not create one.
func TestModernCallCreatesNoLegacyTask(t *testing.T) {
	t.Parallel()
	const params, meta = `{"task":{},"name":"slow_compute","arguments":{"seconds":0}`, `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	c := connect(t, Options{Dial: inProcess("tasks"), Era: core.Legacy})
	assert.Contains(t, string(send(t, c, core.Legacy, params+"}").Result), `"task":{"taskId"`)
	assert.Contains(t, string(send(t, c, core.Modern, params+meta).Result), `"content":[`)
}

// A modern request with complete _meta is forwarded to a modern server unchanged.
func TestCompleteRequestIsForwardedUnchanged(t *testing.T) {
	t.Parallel()
	c := connect(t, Options{Dial: inProcess("modern")})
	params := `{"name":"echo","arguments":{"a":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`
	for _, introduced := range []bool{true, false} {
		reply, err := c.Send(t.Context(), &core.Call{Era: core.Modern, Method: "tools/call", Params: []byte(params), HasModernMeta: introduced}, nil)
		assert.NoError(t, err, reply.Error)
		assert.Contains(t, string(reply.Result), `"structuredContent":{"a":1}`, reply.Error)
	}
	// For a legacy request, HasModernMeta has no effect.
	reply, err := c.Send(t.Context(), &core.Call{Era: core.Legacy, Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{"a":1}}`), HasModernMeta: true}, nil)
	assert.NoError(t, err, reply.Error)
	assert.Contains(t, string(reply.Result), `"structuredContent":{"a":1}`, reply.Error)
}

func TestProgressKeepsClientTokenAcrossEras(t *testing.T) {
	t.Parallel()
	c := connect(t, Options{Dial: inProcess("progress")})
	params := `{"arguments":{"n":3},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":"mine"}}`
	sink := &countSink{want: `"progressToken":"mine"`}
	_, err := c.Send(context.Background(), &core.Call{Era: core.Modern, Method: "tools/call", Params: json.RawMessage(params)}, sink)
	require.NoError(t, err)
	assert.Equal(t, 3, sink.n)
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
	assert.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	<-c.Done()
	assert.Error(t, c.Err(), "no reason")
}

func TestCloseIsIdempotentAndLeaksNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"echo", "stubborn", "stops-reading"} {
		t.Run(mode, func(t *testing.T) {
			c := connect(t, Options{Dial: spawn(mode)})
			for range 3 {
				assert.NoError(t, c.Close(context.Background()))
			}
			<-c.Done()
		})
	}
}

func TestFailedStartReportsServerResponse(t *testing.T) {
	t.Parallel()
	_, err := Connect(context.Background(), Options{Server: "test", Dial: inProcess("modern"), Era: core.Legacy})
	assert.Error(t, err)
	assert.Contains(t, fmt.Sprint(err), "unsupported protocol version")
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
		require.Equal(t, modern, c.Peer().Era == core.Modern)
		require.Equal(t, "server/discover", *first.Load())
	}
}
