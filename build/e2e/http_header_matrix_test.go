//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// route is one method of a registered path.
type route struct {
	method, path string
	mcp          bool // a route of the bridge; otherwise of the API
	open         bool // needs no token
	shell        bool // a file of the page
}

// routes returns everything that the daemon serves: the routes of the API and those that the
// daemon's wiring adds. An unknown pattern fails the test, so that nobody adds a route without
// deciding who may use it.
func routes(t testing.TB) (list []route) {
	t.Helper()
	for _, pattern := range wired(t) {
		switch pattern {
		case "/":
			for _, r := range api.New(api.Options{}).Routes() {
				method, path, ok := strings.Cut(r.Pattern, " ")
				methods := []string{method}
				if !ok {
					path, methods = r.Pattern, []string{"GET", "HEAD", "POST", "PUT", "DELETE"}
				}
				// No server or call has this name, so a request that gets through does no harm.
				path = literal(path)
				for _, m := range methods {
					list = append(list, route{method: m, path: path, open: r.Access == api.Anyone, shell: path == "/"})
				}
			}
		case "/mcp":
			list = append(list, route{method: "POST", path: "/mcp", mcp: true}, route{method: "GET", path: "/mcp", mcp: true}, route{method: "DELETE", path: "/mcp", mcp: true})
		case "/s/":
			list = append(list, route{method: "POST", path: "/s/demo/mcp", mcp: true}, route{method: "GET", path: "/s/demo/mcp", mcp: true}, route{method: "POST", path: "/s/nobody/mcp", mcp: true}, route{method: "DELETE", path: "/s/x", mcp: true})
		case "/p/":
			list = append(list, route{method: "POST", path: "/p/office/mcp", mcp: true}, route{method: "GET", path: "/p/", mcp: true})
		default:
			t.Errorf("the daemon serves %q, which this matrix does not know", pattern)
		}
	}
	require.Truef(t, len(list) >= 35, "only %d routes were found: %v", len(list), list)
	return list
}

// literal fills the variables of a pattern.
func literal(pattern string) string {
	return strings.NewReplacer("{id}", "nobody", "{action}", "stop").Replace(pattern)
}

// wired reads from the daemon's source which patterns it registers.
func wired(t testing.TB) (patterns []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "app/drawbridge/*.go"))
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			var within ast.Node
			switch n := n.(type) {
			case *ast.RangeStmt: // for _, path := range []string{...} { mux.Handle(path, ...) }
				if !handles(n.Body) {
					return true
				}
				within = n.X
			case *ast.CallExpr:
				if !isHandle(n) {
					return true
				}
				within = n.Args[0]
			default:
				return true
			}
			ast.Inspect(within, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, _ := strconv.Unquote(lit.Value)
					patterns = append(patterns, text)
				}
				return true
			})
			return true
		})
	}
	return patterns
}

func isHandle(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (f.Sel.Name == "Handle" || f.Sel.Name == "HandleFunc") && len(call.Args) == 2
}

func handles(body ast.Node) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && isHandle(call)
		return !found
	})
	return found
}

// rawHTTP sends a request verbatim and returns the status and the whole response.
func (d *daemon) rawHTTP(t testing.TB, head []string, body string) (status int, answer string, header http.Header) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(d.url, "http://"), limit(5*time.Second))
	require.NoError(t, err)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(limit(10 * time.Second)))
	_, err = io.WriteString(conn, strings.Join(head, "\r\n")+"\r\nConnection: close\r\n\r\n"+body)
	require.NoError(t, err)
	method, _, _ := strings.Cut(head[0], " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	require.NoErrorf(t, err, "%q", head)
	defer resp.Body.Close()
	// A stream never ends; its beginning is enough.
	conn.SetDeadline(time.Now().Add(limit(2 * time.Second)))
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.StatusCode, "", resp.Header
	}
	src, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(src), resp.Header
}

// nothingHappened fails unless the daemon has no trace of the requests: no call in the history, no
// session, no client and no change of the configuration.
func (d *daemon) nothingHappened(t testing.TB, config string) {
	t.Helper()
	assert.Empty(t, d.calls())
	var clients struct {
		Items []struct {
			Name, Token string
			Sessions    int
			Calls       int
		}
	}
	d.get("/api/v1/clients", &clients)
	for _, c := range clients.Items {
		assert.Truef(t, c.Sessions == 0 && c.Calls == 0 && c.Name == "", "somebody got in: %+v", c)
	}
	now, err := os.ReadFile(filepath.Join(d.data, "config.jsonc"))
	assert.Truef(t, err == nil && string(now) == config, "the configuration was changed (%v):\n%s", err, now)
	_, err = os.Stat(filepath.Join(d.data, "sessions.json"))
	assert.Error(t, err, "a browser was let in")
}

// streams never end for a permitted client.
var streams = map[string]bool{"/api/v1/events": true, "/api/v1/window": true}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"matrix","version":"0"}}}`

// The test sends combinations of right and wrong Host, Origin, Sec-Fetch-Site, Content-Type, token,
// Accept and version to every route of the built program. A request with any wrong part reaches no
// handler and gets the code of the first wrong part.
func TestHeaderMatrixOnEveryRoute(t *testing.T) {
	t.Parallel()
	directory := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"servers":[]}`) }))
	defer directory.Close()
	d := start(t, object{"directory": object{"url": directory.URL}, "mcpServers": object{"demo": demo()}})
	d.running("demo")
	config, err := os.ReadFile(filepath.Join(d.data, "config.jsonc"))
	require.NoError(t, err)
	mcp := d.token("matrix")
	host := strings.TrimPrefix(d.url, "http://")
	_, port, _ := net.SplitHostPort(host)

	type value struct {
		header string // "" for no header
		right  bool
	}
	hosts := []value{{host, true}, {"evil.test:" + port, false}, {"127.0.0.1:1", false}}
	origins := []value{{"", true}, {d.url, true}, {"http://evil.test", false}, {"null", false}, {"http://127.0.0.1:1", false}}
	sites := []value{{"", true}, {"same-origin", true}, {"cross-site", false}, {"same-site", false}}
	types := []value{{"application/json", true}, {"text/plain", false}, {"", false}}
	tokens := func(r route) []value {
		right, other := d.admin, mcp
		if r.mcp {
			right, other = mcp, d.admin
		}
		// A token of the other half of the program is as wrong as a guess.
		return []value{{"Bearer " + right, true}, {"", false}, {"Bearer " + other, false}, {"Bearer dbr_guess", false}, {"Basic " + right, false}}
	}
	// Two headers that only the bridge reads. Wrong ones are sent with all other parts right, which
	// are few requests.
	protocol := []struct{ accept, version string }{
		{"application/json", "2025-11-25"}, {"text/html", "2025-11-25"}, {"", "2025-11-25"},
		{"application/json, text/event-stream", "1999-01-01"}, {"application/json, text/event-stream", "2099-01-01"},
		{"application/json, text/event-stream", "2026-07-28"}, {"application/json, text/event-stream", "\x80"},
	}
	// A stream that should have been refused would never end.
	client := &http.Client{Timeout: limit(5 * time.Second), Transport: &http.Transport{MaxIdleConnsPerHost: 4}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	send := func(r route, headers map[string]string, body string) (int, string) {
		var reader io.Reader
		if body != "" {
			reader = strings.NewReader(body)
		}
		req, err := http.NewRequest(r.method, d.url+r.path, reader)
		require.NoError(t, err)
		for name, v := range headers {
			switch {
			case name == "Host":
				req.Host = v
			case v != "":
				req.Header.Set(name, v)
			}
		}
		resp, err := client.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		for name := range resp.Header {
			assert.Falsef(t, strings.HasPrefix(name, "Access-Control"), "%s %s: a CORS header: %s", r.method, r.path, name)
		}
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		return resp.StatusCode, string(answer)
	}

	all, tried, through, wrong := d.withOperations(t, routes(t)), 0, 0, 0
	for n, r := range all {
		for _, h := range hosts {
			for _, o := range origins {
				for _, s := range sites {
					for _, ty := range types {
						for _, k := range tokens(r) {
							// Requests with one wrong part are sent to every route; of those with
							// several, each route gets a different part.
							if n++; mistakes(h.right, o.right, s.right, ty.right, k.right) > 1 && n%24 != 0 {
								continue
							}
							body := ""
							if r.method == "POST" || r.method == "PUT" {
								body = hello
							}
							guarded := h.right && o.right && s.right
							want := []int{}
							switch {
							case !guarded:
								want = []int{403}
							case body != "" && !ty.right:
								want = []int{415}
							case !k.right && !r.open:
								want = []int{401, 429} // guessing is throttled
							case r.mcp || r.path == "/api/session" || r.method != "GET" || streams[r.path]:
								// The request would get through; below that is tested once for each
								// route.
								continue
							}
							tried++
							got, answer := send(r, map[string]string{
								"Host": h.header, "Origin": o.header, "Sec-Fetch-Site": s.header, "Content-Type": ty.header, "Authorization": k.header,
								"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25",
							}, body)
							if len(want) == 0 {
								through++
								want = []int{200, 400, 404}
							}
							if !slices.Contains(want, got) {
								if wrong++; wrong > 20 {
									t.Fatal("and so on")
								}
								t.Errorf("%s %s with host %q, origin %q, site %q, type %q, token %.12q: %d, want %v: %s",
									r.method, r.path, h.header, o.header, s.header, ty.header, k.header, got, want, tail(answer))
							}
							if got >= 400 && (strings.Contains(answer, "evil") || strings.Contains(answer, "matrix")) {
								t.Errorf("%s %s repeats what it was sent: %s", r.method, r.path, answer)
							}
						}
					}
				}
			}
		}
	}
	d.nothingHappened(t, string(config))

	// A control: with all parts right, every handler is reached.
	for _, r := range all {
		if r.method == "HEAD" || streams[r.path] || r.path == "/api/v1/quit" || r.mcp && r.method == "GET" {
			continue
		}
		body := ""
		if r.method == "POST" || r.method == "PUT" {
			body = hello
		}
		right := map[string]string{
			"Host": host, "Origin": d.url, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json", "Authorization": tokens(r)[0].header,
			"Accept": "application/json, text/event-stream",
		}
		got, answer := send(r, right, body)
		if got == 403 || got == 415 || got == 429 || got == 401 && r.path != "/api/session" || got >= 500 {
			t.Errorf("%s %s with everything right: %d %s", r.method, r.path, got, tail(answer))
		}
		if !r.mcp || r.method != "POST" || !strings.HasSuffix(r.path, "/mcp") || got == 404 {
			continue
		}
		for _, p := range protocol {
			right["Accept"], right["MCP-Protocol-Version"] = p.accept, p.version
			tried++
			if got, answer := send(r, right, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"x"}}}`); got < 400 || got >= 500 {
				t.Errorf("%s with accept %q and version %q: %d %s", r.path, p.accept, p.version, got, tail(answer))
			}
		}
	}
	assert.Empty(t, d.calls(), "a call came through")
	t.Logf("%d routes, %d wrong requests, 0 reached a handler (%d right ones for whoever is on this machine)", len(all), tried-through, through)
}

func mistakes(right ...bool) (n int) {
	for _, is := range right {
		if !is {
			n++
		}
	}
	return n
}

// withOperations adds to all the operations that the running daemon reports and all lacks, such as
// those of features: each needs the admin token.
func (d *daemon) withOperations(t *testing.T, all []route) []route {
	t.Helper()
	var document struct {
		Paths map[string]map[string]any
	}
	d.get("/api/openapi.json", &document)
	known := map[string]bool{}
	for _, r := range all {
		known[r.method+" "+r.path] = true
	}
	operations := 0
	for path, methods := range document.Paths {
		for method := range methods {
			operations++
			r := route{method: strings.ToUpper(method), path: literal(path)}
			if !known[r.method+" "+r.path] {
				all = append(all, r)
			}
		}
	}
	assert.Truef(t, operations >= 100, "only %d operations are documented", operations)
	return all
}

// headOf returns the head of a request with a body of n bytes.
func headOf(method, path, host string, n int, headers ...string) []string {
	head := []string{method + " " + path + " HTTP/1.1", "Host: " + host}
	if n > 0 {
		head = append(head, fmt.Sprintf("Content-Length: %d", n))
	}
	return append(head, headers...)
}
