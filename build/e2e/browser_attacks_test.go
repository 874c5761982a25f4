//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scene is one attacking page and its target.
type scene struct {
	Name    string `json:"name"`
	Page    string `json:"page"`   // the address of the attacking page
	Target  string `json:"target"` // the attacked origin, as the page names it
	Rebound bool   `json:"rebound,omitempty"`
	Link    string `json:"link,omitempty"` // first opens our own page in the same browser
}

// attacked is the result of an attack.
type attacked struct {
	Name    string
	Tried   []struct{ Kind, Path, Read string }
	Answers []struct {
		Kind, Method, Path string
		Status             int
	}
}

func attack(t testing.TB, scenes []scene) map[string]attacked {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("no browser: %v", err)
	}
	order, err := json.Marshal(object{"scenes": scenes, "hello": hello})
	require.NoError(t, err)
	// Most attacks wait for something that does not come.
	ctx, cancel := context.WithTimeout(t.Context(), max(3*time.Minute, limit(time.Minute)))
	defer cancel()
	cmd := exec.CommandContext(ctx, node, abs("clients/browser_attacks.mjs"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + t.TempDir(), "CHROMIUM=" + browser}
	cmd.Stdin = strings.NewReader(string(order))
	var list []attacked
	require.NoError(t, json.Unmarshal([]byte(run(t, cmd, 0)), &list))
	found := map[string]attacked{}
	for _, a := range list {
		found[a.Name] = a
	}
	return found
}

// requestLog is a handler that records the requests that reached it, by page and attack.
type requestLog struct {
	mu   sync.Mutex
	seen []string
	by   map[string]map[string]int
}

func (h *requestLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	h.mu.Lock()
	h.seen = append(h.seen, r.Method+" "+r.URL.Path)
	q := r.URL.Query()
	page := q.Get("page")
	if h.by == nil {
		h.by = map[string]map[string]int{}
	}
	if h.by[page] == nil {
		h.by[page] = map[string]int{}
	}
	h.by[page][q.Get("by")]++
	h.mu.Unlock()
	io.WriteString(w, "reached")
}

func (h *requestLog) list() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen)
}

// attackerSite is another web application on this machine, on its own port. It stores every cookie
// that browsers send to it.
type attackerSite struct {
	*httptest.Server
	mu      sync.Mutex
	cookies []string
}

func newAttackerSite(t testing.TB) *attackerSite {
	e := &attackerSite{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.cookies = append(e.cookies, r.Header["Cookie"]...)
		e.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><title>evil</title>")
	}))
	t.Cleanup(e.Close)
	return e
}

// withHostName returns an origin with another name for this machine.
func withHostName(name, origin string) string {
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(origin, "http://"))
	return "http://" + name + ":" + port
}

// Three pages attack: one of another site, one with a name that was bound to our address after it
// was loaded, and one of another program on this machine. All run in a browser in which the user
// has our page open. As a control, the same attacks must reach a server without a guard.
func TestForeignPagesInBrowserReachNothing(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{"demo": demo()}})
	d.running("demo")
	config, err := os.ReadFile(filepath.Join(d.data, "config.jsonc"))
	require.NoError(t, err)
	other := newAttackerSite(t)
	bare, counted := &requestLog{}, &requestLog{}
	unguarded := httptest.NewServer(bare)
	defer unguarded.Close()
	listener, err := loopback.Listen("127.0.0.1:0")
	require.NoError(t, err)
	guarded := loopback.NewServer(loopback.Guard(loopback.GuardOptions{Port: uint16(listener.Addr().(*net.TCPAddr).Port), IsPageShell: api.IsShell})(counted))
	go guarded.Serve(listener)
	defer guarded.Close()
	counting := "http://" + listener.Addr().String()

	var scenes []scene
	// The daemon is first: the codes in its links expire (loopback.CodeLife).
	for _, target := range []struct{ name, origin string }{
		{"the daemon", d.url}, {"a counter behind the guard", counting}, {"no guard", unguarded.URL},
	} {
		for _, page := range []string{"another site", "a rebound name", "another port"} {
			s := scene{Name: page + " against " + target.name, Target: target.origin}
			if target.origin == d.url {
				s.Link = strings.TrimSpace(d.cli(0, "open", "--print"))
			}
			switch page {
			case "another site":
				s.Page = withHostName("evil.test", other.URL) + "/attack"
			case "a rebound name":
				s.Rebound, s.Target = true, withHostName("evil.test", target.origin)
				s.Page = s.Target + "/attack"
			case "another port":
				s.Page = other.URL + "/attack"
			}
			scenes = append(scenes, s)
		}
	}
	found := attack(t, scenes)

	for _, page := range []string{"another site", "a rebound name", "another port"} {
		rebound := page == "a rebound name"
		for _, target := range []string{"the daemon", "a counter behind the guard"} {
			name := page + " against " + target
			for _, a := range found[name].Answers {
				shell := !rebound && a.Method == "GET" && a.Path == "/" && a.Kind == "document"
				if a.Status != http.StatusForbidden && !(shell && a.Status == http.StatusOK) && a.Status != 0 {
					t.Errorf("%s: %s by %s of %s gets %d", name, a.Method, a.Kind, a.Path, a.Status)
				}
			}
			for _, a := range found[name].Tried {
				assert.Emptyf(t, readable(a.Read), "%s: %s of %s", name, a.Kind, a.Path)
			}
			n := len(found[name].Tried)
			assert.Truef(t, n >= 54, "%s: only %d attacks were tried", name, n)
		}
		// What reaches a server without a guard shows that the browser did send the request.
		name := page + " against no guard"
		bare.mu.Lock()
		reached := bare.by[name]
		bare.mu.Unlock()
		var none []string
		for _, a := range found[name].Tried {
			// A form with GET puts its own fields into the address, and a browser itself refuses a
			// worker of another origin.
			if reached[a.Kind] == 0 && a.Kind != "form GET" && (a.Kind != "worker" || rebound) {
				none = append(none, a.Kind)
			}
		}
		assert.Truef(t, len(none) <= 0, "%s: no attack by %v arrives: %v", name, none, reached)
		t.Logf("%s: %d attacks; without a guard %v arrive", page, len(found[name].Tried), reached)
	}
	assert.Truef(t, len(bare.list()) >= 120, "only %d requests reached the server without a guard", len(bare.list()))
	shells := 0
	for _, hit := range counted.list() {
		switch hit {
		case "GET /":
			shells++
		case "GET /favicon.ico": // the browser's own request, for a tab that shows a refusal
		default:
			t.Errorf("behind the guard: %s", hit)
		}
	}
	if shells != 2 { // by the links in a new tab of the two pages that know our name
		t.Errorf("the shell was reached %d times: %v", shells, counted.list())
	}
	assert.NotContains(t, d.log.String(), "without a valid access token", "something came past the guard, up to the token")
	assert.Empty(t, d.calls(), "a call was recorded")
	now, err := os.ReadFile(filepath.Join(d.data, "config.jsonc"))
	assert.Truef(t, err == nil && string(now) == string(config), "the configuration was changed (%v):\n%s", err, now)
	d.running("demo") // nobody has stopped it

	other.replay(t, d)
}

// readable returns the part of a response that a page must not be able to read.
func readable(read string) string {
	switch {
	case strings.HasPrefix(read, "refused"), read == "nothing came", read == "", read == "true", read == "opaque 0 ":
		return ""
	case strings.Contains(read, `"status":403`) && !strings.Contains(read, "demo"):
		return "" // a rebound page can read only that it is refused
	}
	return fmt.Sprintf("%.300q", read)
}

// replay sends without a browser the cookies that the browser sent to the other application,
// including ours.
func (e *attackerSite) replay(t *testing.T, d *daemon) {
	t.Helper()
	e.mu.Lock()
	cookies := slices.Clone(e.cookies)
	e.mu.Unlock()
	at, _ := url.Parse(d.url)
	ours := slices.IndexFunc(cookies, func(c string) bool { return strings.Contains(c, "drawbridge_"+at.Port()+"=") })
	require.Truef(t, ours >= 0, "the browser brought the other application no cookie of ours, so this proves nothing: %q", cookies)
	for _, r := range routes(t) {
		if r.open {
			continue
		}
		head := headOf(r.method, r.path, at.Host, 0, "Cookie: "+cookies[ours], "Accept: application/json, text/event-stream")
		code, body, _ := d.rawHTTP(t, head, "")
		assert.Falsef(t, code != 401 && code != 429, "%s %s with our cookie: %d %s", r.method, r.path, code, body)
	}
}
