package history

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExportedCassetteIsServed(t *testing.T) {
	f := terminaltest.New(t, Commands)
	var query url.Values
	f.Mux.HandleFunc("GET /api/v1/export", func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.Query()
		io.WriteString(w, `{"cassette":1,"server":"files","tools":[{"title":"<R>","name":"read","inputSchema":{"type":"object"}}],"prompts":[{"name":"p","description":"[redacted]"}]}
{"tool":"read","arguments":"{\"n\":1}","result":"{\"text\":\"oldest\"}"}
{"tool":"read","arguments":"{\"n\":1}","result":"{ \"text\":\"<é>\" }"}
{"tool":"read","arguments":"{\"n\":2}","unavailable":"the recorded result is truncated"}
{"calls":3,"unavailable":1,"skipped":1}
`)
	})
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	got := f.Run(true, "replay", "export", "files", path)
	if got.Code != 0 || got.Out != "3 calls and 1 tool written to "+path+"\n1 call written without a result: redacted or truncated\n1 call skipped: no response, or arguments that were redacted or truncated\nSecrets were redacted in 1 definition of tools, prompts, resources and the server\n" {
		t.Fatalf("%d %q %q", got.Code, got.Out, got.Err)
	}
	assert.Truef(t, query.Get("server") == "files" && query.Get("format") == "cassette" && query.Get("session") == "", "asked for %v", query)
	written, err := os.ReadFile(path)
	if got := f.Run(true, "replay", "export", "files", "-"); err != nil || got.Code != 0 || got.Out != string(written) || !strings.Contains(got.Err, "3 calls and 1 tool written to standard output") {
		t.Errorf("%+v, %v", got, err)
	}
	if got := f.Run(true, "replay", "export", "files", path); got.Code != 1 || !strings.Contains(got.Err, "exists") {
		t.Errorf("an existing file was replaced: %+v", got)
	}
	messages := `{"id":1,"method":"tools/list"}
{"id":2,"method":"tools/call","params":{"name":"read","arguments":{"n":1}}}
{"id":3,"method":"tools/call","params":{"name":"read","arguments":{"n":1}}}
{"id":4,"method":"tools/call","params":{"name":"read","arguments":{"n":2}}}
`
	want := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"title":"<R>","name":"read","inputSchema":{"type":"object"}}]}}
{"jsonrpc":"2.0","id":2,"result":{"text":"oldest"}}
{"jsonrpc":"2.0","id":3,"result":{ "text":"<é>" }}
{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"cannot serve the response: the recorded result is truncated"}}
`
	t.Chdir(t.TempDir())
	if err := os.Mkdir("files", 0o700); err != nil { // a folder with the name of the server is not a cassette
		t.Fatal(err)
	}
	for _, args := range [][]string{{"replay", path}, {"replay", "files", "--session", "s1"}} {
		if got = f.Typed(messages, args...); got.Code != 0 || got.Out != want {
			t.Errorf("%v: %d %s%s", args, got.Code, got.Out, got.Err)
		}
	}
	assert.Equal(t, "s1", query.Get("session"))
	// The last session is the newest one in which the server was called.
	f.Answer("GET /api/v1/sessions", `{"items":[{"session":"s9","servers":["git"]},{"session":"s8","servers":["git","files"]},{"session":"s7","servers":["files"]}]}`)
	if got = f.Typed(messages, "replay", "files", "--session", "last"); got.Code != 0 || query.Get("session") != "s8" {
		t.Errorf("asked for %v: %s", query, got.Err)
	}
	for _, c := range []struct{ args, want string }{
		{"other --session last", "no session is recorded yet"},
		{path + " --session s1", "is a file"},
		{path + " --passthrough", "requires the name of a server, not a cassette"},
		{"files --nearest --passthrough", "these cannot be combined"},
		{"files --from never", "is not a time"},
		{filepath.Dir(path), "is not a regular file"},
		{os.DevNull, "is not a regular file"},
		{path + "x/y", "cannot open the cassette"},
	} {
		if got = f.Typed("", append([]string{"replay"}, strings.Fields(c.args)...)...); got.Code == 0 || !strings.Contains(got.Err, c.want) {
			t.Errorf("%s: %+v, want %s", c.args, got, c.want)
		}
	}
}

// A signal ends the context of the command, while standard input remains open.
func TestReplayEndsWithASignal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"cassette":1,"server":"files","tools":[]}`+"\n"+`{"calls":0}`+"\n"), 0o600))
	f := terminaltest.New(t, Commands)
	ctx, signal := context.WithCancel(t.Context())
	in, send := io.Pipe()
	receive, out := io.Pipe()
	ended := make(chan int)
	go func() {
		ended <- f.RunWith(ctx, func(e *terminal.Env) { e.Stdin, e.Stdout = in, out }, "replay", path).Code
	}()
	go io.WriteString(send, `{"id":1,"method":"ping"}`+"\n")
	line, err := bufio.NewReader(receive).ReadString('\n')
	assert.Truef(t, err == nil && strings.Contains(line, `"result":{}`), "%q, %v", line, err)
	signal()
	code := <-ended
	assert.Equal(t, 0, code, "exit code")
	_ = send.Close()
}

func TestPassthroughCallsTheLiveServerAsAClient(t *testing.T) {
	f := terminaltest.New(t, Commands)
	f.Answer("GET /api/v1/export", `{"cassette":1,"server":"files","tools":[]}`+"\n"+`{"calls":0}`)
	f.Mux.HandleFunc("POST /api/v1/live-call", func(w http.ResponseWriter, r *http.Request) {
		var sent LiveRequest
		err := json.NewDecoder(r.Body).Decode(&sent)
		assert.Truef(t, err == nil && sent.Server == "files", "%v %+v", err, sent)
		said, ok := map[string]string{
			`tools/call {"name":"read","arguments":{"n":5}}`:   `{"result":"{\"content\":[]}"}`,
			`tools/call {"name":"error","arguments":{"n":5}}`:  `{"error":"{\"code\":-32602,\"message\":\"no\"}"}`,
			`prompts/get {"name":"greet","arguments":{"n":5}}`: `{"result":"{\"messages\":[]}"}`,
			`resources/read {"uri":"a:b"}`:                     `{"result":"{\"contents\":[]}"}`,
		}[sent.Method+" "+sent.Params]
		if !ok {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			said = `{"code":"rejected","detail":"the user has denied it"}`
		}
		io.WriteString(w, said)
	})
	for request, want := range map[string]string{
		`"tools/call","params":{"name":"read","arguments":{"n":5}}`:    `"result":{"content":[]}`,
		`"tools/call","params":{"name":"error","arguments":{"n":5}}`:   `"error":{"code":-32602,"message":"no"}`,
		`"tools/call","params":{"name":"refused","arguments":{"n":5}}`: `"the user has denied it"`,
		`"prompts/get","params":{"name":"greet","arguments":{"n":5}}`:  `"result":{"messages":[]}`,
		`"resources/read","params":{"uri":"a:b"}`:                      `"result":{"contents":[]}`,
	} {
		got := f.Typed(`{"id":1,"method":`+request+`}`+"\n", "replay", "files", "--passthrough")
		assert.Equal(t, 0, got.Code, request)
		assert.Contains(t, got.Out, want, request)
	}
}
