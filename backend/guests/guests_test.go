//go:build !windows

package guests

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"
	"github.com/drawbridge-mcp/drawbridge/backend/web/webtest"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is the feature in a data folder, whose endpoints answer with the name of the client. The one at
// /hang answers only when its request ends.
type host struct {
	*webtest.Site
	*Feature
	data  string
	stop  func()
	mu    sync.Mutex
	ended []string
}

const before = "{\"profiles\": {\"small\": {\"servers\": {}}}}\n"

func newHost(t *testing.T, data string) *host {
	t.Helper()
	file := filepath.Join(data, "config.jsonc")
	if _, err := os.Stat(file); err != nil {
		require.NoError(t, os.WriteFile(file, []byte(before), 0o600))
	}
	files := config.NewReloader(config.ReloaderOptions{Sources: config.Sources{DefaultFile: file}, Bus: new(core.Bus), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, files.Load())
	tokens, err := loopback.NewTokens(data, nil)
	require.NoError(t, err)
	h := &host{data: data}
	h.Feature = &Feature{
		Folder: filepath.Join(data, "guests"), Config: files, Tokens: tokens, Log: slog.New(slog.DiscardHandler),
		IsClient: func(name string) bool { return name == "zed" },
		End:      func(name string) { h.mu.Lock(); defer h.mu.Unlock(); h.ended = append(h.ended, name) },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.WriteString(w, r.Header.Get(loopback.ClientHeader)); err != nil || r.URL.Path != "/hang" {
				return
			}
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}),
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	configured := make(chan struct{})
	go func() { _ = files.Run(ctx, func(*config.Config) {}); close(configured) }()
	go func() { _ = h.Run(ctx); close(done) }()
	h.stop = func() { cancel(); <-done; <-configured }
	t.Cleanup(h.stop)
	h.Site = webtest.New(h.Feature)
	return h
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// ask sends a request to the socket of a guest with the token in the folder of another.
func (h *host) ask(socket, tokenOf, path string) (*http.Response, error) {
	token, _ := os.ReadFile(filepath.Join(h.data, "guests", tokenOf, loopback.GuestToken))
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(h.data, "guests", socket, loopback.GuestSocket))
	}}
	r, err := http.NewRequest("GET", "http://localhost"+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return (&http.Client{Transport: transport}).Do(r)
}

func (h *host) answer(t *testing.T, socket, tokenOf string) string {
	t.Helper()
	resp, err := h.ask(socket, tokenOf, "/mcp")
	if err != nil {
		return "no connection"
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, body)
}

func TestGuestAsksByDefaultAndLeavesNothing(t *testing.T) {
	h := newHost(t, shortDir(t))
	var one Guest
	require.NoError(t, json.Unmarshal([]byte(h.Do(t, "/api/v1/guests", `{"name":"one","profile":"small"}`, 200)), &one))
	h.Do(t, "/api/v1/guests", `{"name":"two","approval":"never"}`, 200)
	c := h.Config.Current()
	if c.Policy.Clients["one"].Approval != "ask" || c.Clients["one"].Profile != "small" || c.Policy.Clients["two"].Approval != "never" {
		t.Errorf("%+v %+v", c.Policy.Clients, c.Clients)
	}
	token, err := os.ReadFile(filepath.Join(one.Folder, loopback.GuestToken))
	require.NoError(t, err)
	text := fmt.Sprint(one.Setup)
	assert.Truef(t, !strings.Contains(text, strings.TrimSpace(string(token))) && strings.Contains(text, one.Folder) && one.Problem == "", "%+v", one)
	for _, ask := range [][3]string{{"one", "one", "200 one"}, {"two", "two", "200 two"}, {"one", "two", "401"}, {"two", "one", "401"}} {
		if got := h.answer(t, ask[0], ask[1]); !strings.HasPrefix(got, ask[2]) {
			t.Errorf("%s with the token of %s: %s", ask[0], ask[1], got)
		}
	}
	h.Want(t, "GET", "/api/v1/guests", "", 200, `"name":"one","profile":"small","approval":"ask"`, `"name":"two"`)

	// Removing a guest ends its requests at once, and nothing of it is left.
	resp, err := h.ask("one", "one", "/hang")
	require.NoError(t, err)
	defer resp.Body.Close()
	h.Want(t, "DELETE", "/api/v1/guests/one", "", 204)
	_, err = io.Copy(io.Discard, resp.Body)
	assert.Error(t, err, "the request of a removed guest ended as if it was complete")
	if got := h.answer(t, "one", "one"); got != "no connection" || strings.Join(h.ended, " ") != "one" {
		t.Error(got, h.ended)
	}
	assert.Equal(t, "200 two", h.answer(t, "two", "two"), "the other guest")
	h.Want(t, "DELETE", "/api/v1/guests/two", "", 204)
	if text, err := os.ReadFile(filepath.Join(h.data, "config.jsonc")); string(text) != before {
		t.Errorf("%s %v", text, err)
	}
	left, err := os.ReadDir(filepath.Join(h.data, "guests"))
	assert.Empty(t, left, err)
	h.Want(t, "DELETE", "/api/v1/guests/two", "", 404)
}

func TestGuestsComeBackWithDaemon(t *testing.T) {
	data := shortDir(t)
	h := newHost(t, data)
	h.Do(t, "/api/v1/guests", `{"name":"one"}`, 200)
	h.stop()
	assert.Equal(t, "no connection", h.answer(t, "one", "one"), "a stopped daemon answers")
	h = newHost(t, data)
	eventually.Complete(t, 5*time.Second, func() string {
		if got := h.answer(t, "one", "one"); got != "200 one" {
			return got
		}
		return ""
	})
	assert.True(t, h.Has("one") && !h.Has("two"), "guests are not told from clients")
}

// At the start of the daemon, Run may read the tokens while a guest is being added. A second socket would never end.
func TestGuestThatIsAddedDuringTheStartHasOneSocket(t *testing.T) {
	h := newHost(t, shortDir(t))
	h.Do(t, "/api/v1/guests", `{"name":"one"}`, 200)
	list, err := h.tokens()
	require.NoError(t, err)
	first := h.open["one"]
	require.NoError(t, h.listen(list[0]))
	assert.Same(t, first, h.open["one"])
	assert.Equal(t, "200 one", h.answer(t, "one", "one"))
}

// A guest that cannot be added leaves nothing.
func TestGuestWithBadNameOrProfileIsRefused(t *testing.T) {
	h := newHost(t, shortDir(t))
	_, err := h.Tokens.Create("cursor")
	require.NoError(t, err)
	for body, want := range map[string]int{
		`{"name":""}`:        422,
		`{"name":".."}`:      422,
		`{"name":"../x"}`:    422,
		`{"name":"a/b"}`:     422,
		`{"name":"a.b"}`:     422,
		`{"name":"Dev"}`:     422,
		`{"name":"-v"}`:      422,
		`{"name":"a\u0000"}`: 422,
		`{"name":"` + strings.Repeat("a", 33) + `"}`: 422,
		`{"name":"x","approval":"deny"}`:             422,
		`{"name":"x","profile":"none"}`:              404,
		`{"name":"cursor"}`:                          409,
		`{"name":"zed"}`:                             409,
	} {
		got, text := h.Ask("POST", "/api/v1/guests", body)
		assert.Falsef(t, got != want && (want != 422 || got != 400), "%s: %d %s", body, got, text)
	}
	text, err := os.ReadFile(filepath.Join(h.data, "config.jsonc"))
	assert.Equal(t, before, string(text), err)
	left, _ := os.ReadDir(filepath.Join(h.data, "guests"))
	assert.Empty(t, left)
	h.Want(t, "DELETE", "/api/v1/guests/cursor", "", 409)
	h.Want(t, "DELETE", "/api/v1/guests/..%2Fx", "", 400)
}

func TestCommandPrintsHowToConnectGuest(t *testing.T) {
	h := newHost(t, shortDir(t))
	d := terminaltest.New(t, Commands)
	d.Mux.Handle("/", h.Mux)
	run := func(code int, args ...string) string {
		t.Helper()
		r := d.Run(false, args...)
		require.Equal(t, code, r.Code, args)
		return r.Out
	}
	text := run(0, "guests", "add", "one")
	for _, want := range []string{filepath.Join(h.data, "guests", "one") + ",target=/run/drawbridge,type=bind,readonly", `"--socket"`, "ssh -R", "drawbridge guests remove one"} {
		assert.Contains(t, text, want)
	}
	assert.Equal(t, text, run(0, "guests", "show", "one"))
	list := run(0, "guests")
	assert.True(t, strings.Contains(list, "one") && strings.Contains(list, "ask"), list)
	run(0, "guests", "remove", "one")
	run(1, "guests", "show", "one")
}

// While there is a daemon, it removes the guests, because it ends their calls.
func TestDaemonRemovesAllGuests(t *testing.T) {
	d := terminaltest.New(t, Commands)
	h := newHost(t, d.Data)
	d.Mux.Handle("/", h.Mux)
	h.Do(t, "/api/v1/guests", `{"name":"one"}`, 200)
	e := &terminal.Env{Data: d.Data, Getenv: func(string) string { return "" }, Stderr: io.Discard}
	names, err := Names(e)
	require.NoError(t, err)
	assert.Equal(t, []string{"one"}, names)
	removed, err := RemoveAll(t.Context(), e)
	require.NoError(t, err)
	assert.Equal(t, []Removal{{Name: "one"}}, removed)
	assert.Equal(t, []string{"one"}, h.ended)
	assert.NoDirExists(t, filepath.Join(d.Data, "guests", "one"))
}

// On Windows, a client in WSL gets the program of Windows by the path that WSL has for it.
func TestClientInWSLGetsProgramOfWindows(t *testing.T) {
	for program, want := range map[string]string{
		`C:\Program Files\Drawbridge\drawbridge.exe`: `"command": "/mnt/c/Program Files/Drawbridge/drawbridge.exe"`,
		`D:\tools\drawbridge.exe`:                    `"command": "/mnt/d/tools/drawbridge.exe"`,
	} {
		_, hint := core.Describe(noSockets("blog", program))
		assert.Contains(t, hint, want)
		assert.Contains(t, hint, `"args": [ "stdio", "--client", "blog" ]`)
	}
}
