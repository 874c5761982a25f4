package loopback

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testPort = 7575

func shell(r *http.Request) bool { return r.URL.Path == "/" }

// pass sends a request through a guard and returns its status, body and headers; 200 means that
// it reached the handler.
func pass(t *testing.T, method, path string, body io.Reader, header http.Header) (int, string, http.Header) {
	t.Helper()
	reached := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	})
	guard := Guard(GuardOptions{Port: testPort, AllowedHosts: func() []string { return []string{"drawbridge.test:9000", "host.docker.internal"} }, MaxBody: 1000, IsPageShell: shell})(reached)
	r := httptest.NewRequest(method, path, body)
	r.Host = "127.0.0.1:7575"
	if h := header.Get("Host"); header.Values("Host") != nil {
		r.Host = h
		header.Del("Host")
	}
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	guard.ServeHTTP(w, r)
	for name := range w.Header() {
		assert.Falsef(t, strings.HasPrefix(name, "Access-Control-"), "%s %s: a CORS header: %s", method, path, name)
	}
	return w.Code, w.Body.String(), w.Header()
}

func TestOnlyAllowedHostsAreAnswered(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]int{
		"127.0.0.1:7575": 200, "localhost:7575": 200, "[::1]:7575": 200, "LOCALHOST:7575": 200,
		"drawbridge.test:9000": 200, "host.docker.internal:7575": 200,
		"": 403, "127.0.0.1": 403, "localhost": 403, "127.0.0.1:7576": 403, "localhost:80": 403, "127.0.0.1:07575": 403,
		"evil.com": 403, "evil.com:7575": 403, "localhost.evil.com:7575": 403, "127.0.0.1.evil.com:7575": 403, "localhost.:7575": 403,
		"0.0.0.0:7575": 403, "2130706433:7575": 403, "0x7f000001:7575": 403, "127.1:7575": 403, "127.0.0.2:7575": 403,
		"[::ffff:127.0.0.1]:7575": 403, "[::1%25lo]:7575": 403, "[::]:7575": 403, "::1:7575": 403, "a@127.0.0.1:7575": 403,
		"127.0.0.1:7575:7575": 403, "127.0.0.1:7575,evil.com": 403, "127.0.0.1:7575/": 403, " 127.0.0.1:7575": 403,
		"drawbridge.test:7575": 403, "host.docker.internal:80": 403, "ſocalhost:7575": 403, "host.doc\u212aer.internal:7575": 403,
	} {
		for _, path := range []string{"/", "/mcp", "/healthz", "/api/v1/status", "/.well-known/x"} {
			got, body, _ := pass(t, "GET", path, nil, http.Header{"Host": {host}})
			assert.Falsef(t, got != want && (want != 200 || path != "/.well-known/x"), "Host %q at %s: %d, want %d", host, path, got, want)
			assert.NotContainsf(t, body, "evil", "Host %q", host)
		}
	}
}

func TestForeignOriginsReachNothing(t *testing.T) {
	t.Parallel()
	visit := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}
	with := func(h http.Header, name string, values ...string) http.Header {
		c := h.Clone()
		if c == nil {
			c = http.Header{}
		}
		c[name] = values
		return c
	}
	for _, c := range []struct {
		name   string
		header http.Header
		method string
		path   string
		want   int
	}{
		{"no page", nil, "GET", "/mcp", 200},
		{"our page", http.Header{"Origin": {"http://127.0.0.1:7575"}, "Sec-Fetch-Site": {"same-origin"}}, "GET", "/mcp", 200},
		{"our page by name", http.Header{"Origin": {"http://localhost:7575"}}, "POST", "/mcp", 200},
		{"allowed host with TLS", http.Header{"Origin": {"https://drawbridge.test:9000"}}, "GET", "/mcp", 200},
		{"typed in", http.Header{"Sec-Fetch-Site": {"none"}}, "GET", "/", 200},
		{"a link to the shell", visit, "GET", "/", 200},

		{"a link to the API", visit, "GET", "/api/v1/status", 403},
		{"a form to the shell", visit, "POST", "/", 403},
		{"a frame of the shell", with(visit, "Sec-Fetch-Dest", "iframe"), "GET", "/", 403},
		{"a link with an Origin", with(visit, "Origin", "http://evil.com"), "GET", "/", 403},
		{"img", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"no-cors"}, "Sec-Fetch-Dest": {"image"}}, "GET", "/", 403},
		{"same site, other port", http.Header{"Sec-Fetch-Site": {"same-site"}}, "GET", "/api/v1/events", 403},
		{"unknown relation", http.Header{"Sec-Fetch-Site": {"something"}}, "GET", "/mcp", 403},
		{"two relations", http.Header{"Sec-Fetch-Site": {"none", "cross-site"}}, "GET", "/mcp", 403},
		{"evil origin", http.Header{"Origin": {"https://evil.com"}}, "GET", "/mcp", 403},
		{"null origin", http.Header{"Origin": {"null"}}, "POST", "/mcp", 403},
		{"empty origin", http.Header{"Origin": {""}}, "GET", "/mcp", 403},
		{"other port", http.Header{"Origin": {"http://localhost:3000"}}, "GET", "/mcp", 403},
		{"no port", http.Header{"Origin": {"http://127.0.0.1"}}, "GET", "/mcp", 403},
		{"other scheme", http.Header{"Origin": {"https://127.0.0.1:7575"}}, "GET", "/mcp", 403},
		{"with a path", http.Header{"Origin": {"http://127.0.0.1:7575/"}}, "GET", "/mcp", 403},
		{"two origins", http.Header{"Origin": {"http://127.0.0.1:7575", "http://evil.com"}}, "GET", "/mcp", 403},
		{"WebSocket", http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}}, "GET", "/mcp", 403},
		{"Java's first request", http.Header{"Upgrade": {"h2c"}, "Connection": {"Upgrade, HTTP2-Settings"}}, "GET", "/mcp", 200},
		{"preflight", http.Header{"Origin": {"http://evil.com"}, "Access-Control-Request-Method": {"POST"}}, "OPTIONS", "/mcp", 403},
		{"OPTIONS", nil, "OPTIONS", "/mcp", 405},
		{"TRACE", nil, "TRACE", "/mcp", 405},
		{"CONNECT", nil, "CONNECT", "/mcp", 405},
	} {
		h := c.header.Clone()
		if h == nil {
			h = http.Header{}
		}
		got, body, _ := pass(t, c.method, c.path, nil, h)
		assert.Truef(t, got == c.want && !strings.Contains(body, "evil"), "%s: %d %s, want %d", c.name, got, body, c.want)
	}
}

func TestBodiesMustBeSmallPlainJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header http.Header
		body   io.Reader
		want   int
	}{
		"JSON":             {http.Header{"Content-Type": {"application/json"}}, strings.NewReader("{}"), 200},
		"JSON in UTF-8":    {http.Header{"Content-Type": {"application/json; charset=UTF-8"}}, strings.NewReader("{}"), 200},
		"none":             {nil, nil, 200},
		"JSON in UTF-16":   {http.Header{"Content-Type": {"application/json; charset=utf-16"}}, strings.NewReader("{}"), 415},
		"text":             {http.Header{"Content-Type": {"text/plain"}}, strings.NewReader("{}"), 415},
		"form":             {http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, strings.NewReader("a=1"), 415},
		"multipart":        {http.Header{"Content-Type": {"multipart/form-data; boundary=x"}}, strings.NewReader("--x--"), 415},
		"no type":          {nil, strings.NewReader("{}"), 415},
		"two types":        {http.Header{"Content-Type": {"application/json", "text/plain"}}, strings.NewReader("{}"), 415},
		"packed":           {http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, strings.NewReader("x"), 415},
		"too long":         {http.Header{"Content-Type": {"application/json"}}, strings.NewReader(strings.Repeat("x", 1001)), 413},
		"too long, silent": {http.Header{"Content-Type": {"application/json"}}, io.MultiReader(strings.NewReader(strings.Repeat("x", 1001))), 413},
	} {
		h := c.header.Clone()
		if h == nil {
			h = http.Header{}
		}
		got, _, _ := pass(t, "POST", "/mcp", c.body, h)
		assert.Equal(t, c.want, got, name)
	}
}

func TestInternalHeadersAreStripped(t *testing.T) {
	t.Parallel()
	var seen http.Header
	guard := Guard(GuardOptions{Port: testPort})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Clone() }))
	r := httptest.NewRequest("GET", "/mcp", nil)
	r.Host = "localhost:7575"
	for name, value := range map[string]string{
		"X-Drawbridge-Client": "admin", "X-Drawbridge-Ticket": "1", "x-drawbridge-client": "admin", "X-DRAWBRIDGE-NEW": "1",
		"X-Drawbridge-Key": "k", "X-Drawbridge-Shim": "s-1", "X-Drawbridges": "kept", "Accept": "a",
	} {
		r.Header[name] = []string{value}
	}
	guard.ServeHTTP(httptest.NewRecorder(), r)
	var names []string
	for name := range seen {
		names = append(names, name)
	}
	if len(names) != 4 || seen.Get("X-Drawbridge-Key") != "k" || seen.Get("X-Drawbridge-Shim") != "s-1" || seen.Get("X-Drawbridges") != "kept" {
		t.Errorf("what is left: %v", seen)
	}
	r.Header["X-Drawbridge-Shim"] = []string{"a\x00b"}
	guard.ServeHTTP(httptest.NewRecorder(), r)
	assert.Empty(t, seen.Get(ShimHeader), "a shim may call itself")
}

func TestOAuthDiscoveryGetsJSONNotFound(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server/mcp", "/s/a/mcp/.well-known/openid-configuration", "/register", "/token", "/authorize"} {
		status, body, h := pass(t, "GET", path, nil, http.Header{})
		var doc struct {
			Error string `json:"error"`
		}
		if status != 404 || json.Unmarshal([]byte(body), &doc) != nil || doc.Error == "" || h.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestInvalidAllowedHostsAreIgnored(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"*", "*.evil.com", "http://evil.com", "evil.com:99999", "evil.com/", "", "a b", "[::1%lo]"} {
		_, _, ok := parseHost(entry)
		assert.Falsef(t, ok, "%q passes as a host", entry)
		assert.Lenf(t, newAllowedHosts(netip.AddrPortFrom(netip.Addr{}, testPort), []string{entry}).hostHeaders, 3, "%q", entry)
	}
}

func TestAddressThatWeListenOnIsAnswered(t *testing.T) {
	t.Parallel()
	for own, accepted := range map[string][]string{
		"127.0.0.2": {"127.0.0.2:7575", "127.0.0.1:7575", "localhost:7575", "[::1]:7575"},
		"::1":       {"[::1]:7575", "127.0.0.1:7575", "localhost:7575"},
	} {
		h := newAllowedHosts(netip.AddrPortFrom(netip.MustParseAddr(own), testPort), nil)
		for _, host := range accepted {
			assert.Truef(t, h.allows(host) && h.allowsOrigin("http://"+host), "on %s: %q is refused", own, host)
		}
		for _, host := range []string{"127.0.0.3:7575", "127.0.0.2:7576", "evil.com:7575"} {
			assert.Truef(t, !h.allows(host) && !h.allowsOrigin("http://"+host), "on %s: %q is accepted", own, host)
		}
	}
}

// FuzzHostCheck checks that every accepted Host header is, ignoring case, one of the configured
// names, and that the parser of the standard library reads the same port from it.
func FuzzHostCheck(f *testing.F) {
	for _, s := range []string{"127.0.0.1:7575", "LocalHost:7575", "[::1]:7575", "localhost.:7575", "[::1%25]:7575", "a@b:7575", "x.test:7575", ":7575"} {
		f.Add(s)
	}
	h := newAllowedHosts(netip.AddrPortFrom(netip.Addr{}, testPort), []string{"x.test"})
	f.Fuzz(func(t *testing.T, s string) {
		name, port, ok := parseHost(s)
		require.Falsef(t, ok && (strings.ContainsAny(name, "@/\\?#% \x00") || strings.ToLower(name) != name || strings.HasSuffix(name, ".")), "%q is read as %q", s, name)
		if !h.allows(s) {
			return
		}
		host, digits, err := net.SplitHostPort(s)
		require.Truef(t, err == nil && digits == "7575" && ok && port == testPort, "%q passes, and is read as %q, %q, %v", s, host, digits, err)
		switch strings.ToLower(host) {
		case "127.0.0.1", "localhost", "::1", "x.test":
		default:
			t.Fatalf("%q passes as %q", s, host)
		}
	})
}

func TestSlowHeadersAreCutOff(t *testing.T) {
	t.Parallel()
	ln, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	srv := NewServer(http.NotFoundHandler())
	srv.ReadHeaderTimeout = 100 * time.Millisecond // shorter than in production
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(ln) }()
	defer func() { _ = srv.Close(); <-done }()
	c, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, _ = c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n"))
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer, err := io.ReadAll(c)
	require.Truef(t, err == nil && !bytes.Contains(answer, []byte("200")), "the connection stays open: %q, %v", answer, err)
	fresh := NewServer(nil)
	assert.True(t, fresh.ReadHeaderTimeout == 5*time.Second && fresh.MaxHeaderBytes == 32<<10, "the limits of a server are not what is promised")
}

// TestStreamOutlivesBodyTimeout checks that the read deadline is cleared after the body: net/http
// would otherwise cancel the request's context.
func TestStreamOutlivesBodyTimeout(t *testing.T) {
	t.Parallel()
	ln, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	port := uint16(ln.Addr().(*net.TCPAddr).Port)
	guard := Guard(GuardOptions{Port: port, BodyTimeout: time.Second})
	srv := NewServer(guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			w.WriteHeader(http.StatusRequestTimeout)
			return
		}
		select {
		case <-r.Context().Done():
		case <-time.After(1500 * time.Millisecond): // longer than BodyTimeout
			_, _ = io.WriteString(w, "the end")
		}
	})))
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(ln) }()
	defer func() { _ = srv.Close(); <-done; http.DefaultClient.CloseIdleConnections() }()
	res, err := http.Post("http://"+ln.Addr().String()+"/mcp", "application/json", strings.NewReader("{}"))
	require.NoError(t, err)
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	assert.Equal(t, "the end", string(body), "the stream was cut")
	c, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: "+ln.Addr().String()+"\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer, err := io.ReadAll(c)
	assert.Truef(t, err == nil && bytes.Contains(answer, []byte(" 408 ")), "a body that never comes is waited for: %q, %v", answer, err)
}

func TestAllowedHostsFollowConfig(t *testing.T) {
	t.Parallel()
	var allowed []string
	guard := Guard(GuardOptions{Port: testPort, AllowedHosts: func() []string { return allowed }})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	want := func(when, host, origin string, status int) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.Host = host
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		if guard.ServeHTTP(w, r); w.Code != status {
			t.Errorf("%s: %s from %q: %d, want %d", when, host, origin, w.Code, status)
		}
	}
	const name, origin = "proxy.test:9000", "https://proxy.test:9000"
	want("at the start", name, "", http.StatusForbidden)
	allowed = []string{name}
	want("once it is added", name, origin, http.StatusOK)
	want("once it is added", "127.0.0.1:7575", "", http.StatusOK)
	allowed = []string{"other.test:9000"}
	want("once it is replaced", name, "", http.StatusForbidden)
	want("once it is replaced", "127.0.0.1:7575", origin, http.StatusForbidden)
	allowed = nil
	want("once all are removed", "other.test:9000", "", http.StatusForbidden)
	want("once all are removed", "127.0.0.1:7575", "", http.StatusOK)
}

// A handler may close a body that it refuses. The rest of it must not be answered as requests.
func TestRestOfRefusedBodyIsNoRequest(t *testing.T) {
	t.Parallel()
	ln, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	guard := Guard(GuardOptions{Port: uint16(ln.Addr().(*net.TCPAddr).Port)})
	srv := NewServer(guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 4)
		_ = r.Body.Close()
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})))
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(ln) }()
	defer func() { _ = srv.Close(); <-done }()
	hidden := "GET /hidden HTTP/1.1\r\nHost: " + ln.Addr().String() + "\r\n\r\n"
	for _, size := range []int{1000, 1 << 20} { // net/http skips the rest of a short body, and closes the connection for a long one
		c, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		body := strings.Repeat(hidden, size/len(hidden))
		go func() {
			_, _ = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\nxxxx%s", ln.Addr(), 4+len(body), body)
			_ = c.(*net.TCPConn).CloseWrite()
		}()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		answer, _ := io.ReadAll(c) // a reset connection is fine
		assert.Equalf(t, 1, bytes.Count(answer, []byte("HTTP/1.1 ")), "one request with a body of %d", len(body))
		_ = c.Close()
	}
}

// A proxy that counts by Content-Length would take what follows a chunked body for the request of another
// client. A body whose chunks are broken is an invalid request.
func TestNothingAfterChunkedBodyIsARequest(t *testing.T) {
	t.Parallel()
	ln, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	guard := Guard(GuardOptions{Port: uint16(ln.Addr().(*net.TCPAddr).Port)})
	var failure error
	srv := NewServer(guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, failure = io.ReadAll(r.Body)
	})))
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(ln) }()
	defer func() { _ = srv.Close(); <-done }()
	hidden := "GET /hidden HTTP/1.1\r\nHost: " + ln.Addr().String() + "\r\nAuthorization: Bearer x\r\n\r\n"
	for _, c := range []struct {
		lengths, body string
		valid         bool
	}{
		{"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n" + hidden, true},
		{"Transfer-Encoding: chunked\r\nContent-Length: 500\r\n", "2\r\n{}\r\n0\r\n\r\n" + hidden, true},
		{"Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n" + hidden, true},
		{"Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n" + hidden, false},
		{"Transfer-Encoding: chunked\r\n", "5\r\n{}\r\n0\r\n\r\n" + hidden, false},
		{"Transfer-Encoding: chunked\r\n", "2\r\n{}", false},
	} {
		conn, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		_, _ = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\n%s\r\n%s", ln.Addr(), c.lengths, c.body)
		_ = conn.(*net.TCPConn).CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		answer, _ := io.ReadAll(conn)
		_ = conn.Close()
		n := bytes.Count(answer, []byte("HTTP/1.1 "))
		assert.Truef(t, n == 1 && bytes.Contains(answer, []byte("Connection: close")), "%q %q: %d responses: %s", c.lengths, c.body, n, answer)
		invalid := core.CodeOf(failure) == core.CodeValidation
		assert.Truef(t, (failure == nil) == c.valid && invalid != c.valid, "%q %q: reading the body gives %v", c.lengths, c.body, failure)
	}
}
