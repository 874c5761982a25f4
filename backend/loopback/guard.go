package loopback

import (
	"io"
	"mime"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Internal headers of Drawbridge. Guard removes all headers with privatePrefix from incoming
// requests, except the key of a browser session and the claims of a shim.
const (
	privatePrefix = "X-Drawbridge-"
	// ClientHeader is the name of the authenticated client. Only Bearer and RequireAdmin set it.
	ClientHeader = privatePrefix + "Client"
	// GuestHeader is present if the client is a guest. Only GuestBearer sets it.
	GuestHeader = privatePrefix + "Guest"
	// KeyHeader is the key of a browser session.
	KeyHeader = privatePrefix + "Key"
	// ShimHeader identifies a stdio shim. It is an unverified claim and only recorded.
	ShimHeader = privatePrefix + "Shim"
	// WorkspaceHeader is the encoded working directory of a shim. It is an unverified claim as
	// well.
	WorkspaceHeader = privatePrefix + "Workspace"
)

// GuardOptions configures Guard.
type GuardOptions struct {
	Port uint16 // the port that we listen on
	// Address is the address that we listen on. It is accepted besides 127.0.0.1, localhost and
	// ::1; the zero value adds nothing.
	Address netip.Addr
	// AllowedHosts returns additional names under which we answer: "host" or "host:port". It is
	// called for each request, so that a configuration change takes effect immediately; nil:
	// none.
	AllowedHosts func() []string
	MaxBody      int64         // bytes of a request body; 0: 8 MiB
	BodyTimeout  time.Duration // for a whole request body; 0: 30 s
	// IsPageShell reports whether a request is for the page's static shell, the only resource that
	// a link on another site may open. nil: nothing.
	IsPageShell func(*http.Request) bool
}

// Guard returns a middleware that rejects, with 403 and without echoing the request, every
// request that a foreign web page could cause. It runs before authentication, so that a foreign
// page cannot use a leaked token.
//
// No CORS header is ever sent, so preflight requests fail as well.
func Guard(o GuardOptions) func(http.Handler) http.Handler {
	if o.MaxBody <= 0 {
		o.MaxBody = 8 << 20
	}
	if o.BodyTimeout <= 0 {
		o.BodyTimeout = 30 * time.Second
	}
	if o.AllowedHosts == nil {
		o.AllowedHosts = func() []string { return nil }
	}
	g := &guard{GuardOptions: o}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, next) })
	}
}

type guard struct {
	GuardOptions
	hosts atomic.Pointer[allowedHosts] // for the latest AllowedHosts; nil before the first request
}

// currentHosts returns the hosts that are allowed now. It rebuilds them only when AllowedHosts has
// changed.
func (g *guard) currentHosts() *allowedHosts {
	allowed := g.AllowedHosts()
	h := g.hosts.Load()
	if h == nil || !slices.Equal(h.entries, allowed) {
		h = newAllowedHosts(netip.AddrPortFrom(g.Address, g.Port), allowed)
		g.hosts.Store(h)
	}
	return h
}

func (g *guard) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	// Unauthenticated requests keep no connection. Neither do chunked ones: they may have a Content-Length,
	// too, which net/http hides, and a proxy that counts by it sends what follows as another request.
	if len(r.Header["Authorization"]) == 0 && len(r.Header["Cookie"]) == 0 || len(r.TransferEncoding) > 0 {
		w.Header().Set("Connection", "close")
	}
	hosts := g.currentHosts()
	if !hosts.allows(r.Host) {
		writeProblem(w, http.StatusForbidden, core.CodeUnauthorized, "this host name is not allowed",
			"Use the URL printed by \"drawbridge open\", or add the name to bridge.allowedHosts.")
		return
	}
	for _, origin := range r.Header["Origin"] {
		if !hosts.allowsOrigin(origin) {
			writeProblem(w, http.StatusForbidden, core.CodeUnauthorized, "requests from other web pages are not allowed", "")
			return
		}
	}
	for _, site := range r.Header["Sec-Fetch-Site"] {
		if site != "same-origin" && site != "none" && !g.isLinkNavigation(r) {
			writeProblem(w, http.StatusForbidden, core.CodeUnauthorized, "requests from other web pages are not allowed", "")
			return
		}
	}
	if !g.checkMethod(w, r) || !g.checkBody(w, r) {
		return
	}
	stripPrivate(r.Header)
	if isOAuthDiscovery(r.URL.Path) {
		noAuthorizationServer(w)
		return
	}
	next.ServeHTTP(w, r)
}

// isLinkNavigation reports whether the user followed a link on another site to our page.
func (g *guard) isLinkNavigation(r *http.Request) bool {
	h := r.Header
	return r.Method == http.MethodGet && len(h["Origin"]) == 0 &&
		isOnly(h["Sec-Fetch-Mode"], "navigate") && isOnly(h["Sec-Fetch-Dest"], "document") &&
		g.IsPageShell != nil && g.IsPageShell(r)
}

func isOnly(values []string, want string) bool { return len(values) == 1 && values[0] == want }

func (g *guard) checkMethod(w http.ResponseWriter, r *http.Request) bool {
	// Java's HTTP client offers an upgrade to h2c with its first request, and a server may ignore
	// an upgrade. WebSockets are never supported.
	for _, protocol := range r.Header["Upgrade"] {
		if !strings.EqualFold(strings.TrimSpace(protocol), "h2c") {
			writeProblem(w, http.StatusForbidden, core.CodeUnauthorized, "protocol upgrades are not allowed", "")
			return false
		}
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	}
	w.Header().Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE")
	writeProblem(w, http.StatusMethodNotAllowed, core.CodeValidation, "method not allowed", "")
	return false
}

// checkBody checks the body's headers and limits its size and read time. A POST without a body
// needs no content type.
func (g *guard) checkBody(w http.ResponseWriter, r *http.Request) bool {
	if r.ContentLength == 0 {
		return true
	}
	if r.ContentLength > g.MaxBody {
		w.Header().Set("Connection", "close")
		writeProblem(w, http.StatusRequestEntityTooLarge, core.CodeValidation,
			"the request body is larger than "+core.FormatLimit(g.MaxBody), "")
		return false
	}
	if len(r.Header["Content-Encoding"]) > 0 || !isJSON(r.Header["Content-Type"]) {
		writeProblem(w, http.StatusUnsupportedMediaType, core.CodeValidation, "the request body must be uncompressed application/json", "")
		return false
	}
	rc := http.NewResponseController(w)
	if rc.SetReadDeadline(time.Now().Add(g.BodyTimeout)) != nil {
		rc = nil // not a real connection, as in tests
	}
	body := r.Body
	if r.ContentLength < 0 { // otherwise net/http enforces Content-Length
		body = http.MaxBytesReader(w, body, g.MaxBody)
	}
	r.Body = &timedBody{Reader: body, rc: rc}
	return true
}

func isJSON(values []string) bool {
	if len(values) != 1 {
		return false
	}
	if values[0] == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(values[0])
	if err != nil || media != "application/json" {
		return false
	}
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}

// timedBody clears the read deadline once the body has been read, because the response may be a
// stream, and net/http cancels a request whose connection cannot be read.
type timedBody struct {
	io.Reader
	rc *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF && b.rc != nil {
		_ = b.rc.SetReadDeadline(time.Time{})
		b.rc = nil
	}
	if err != nil && err != io.EOF {
		err = &core.Error{Code: core.CodeValidation, Message: "cannot read the request body to its end", Cause: err}
	}
	return n, err
}

// Close does nothing: net/http closes the body after the request. It recognizes a body that was
// closed before its end only by its own type; of this one, it would read the rest as the next
// request on the connection.
func (b *timedBody) Close() error { return nil }

func stripPrivate(h http.Header) {
	for name, values := range h {
		if len(name) < len(privatePrefix) || !strings.EqualFold(name[:len(privatePrefix)], privatePrefix) {
			continue
		}
		switch {
		case name == KeyHeader && len(values) == 1:
		case name == ShimHeader && len(values) == 1 && isPlainValue(values[0], 64):
		case name == WorkspaceHeader && len(values) == 1 && (isPlainValue(values[0], 8<<10) || isPath(values[0], 4<<10)):
		default:
			delete(h, name)
		}
	}
}

// isPath reports whether s is an absolute path that a client may send: at most maxLen bytes
// without control characters.
func isPath(s string, maxLen int) bool {
	return filepath.IsAbs(s) && len(s) <= maxLen && strings.IndexFunc(s, unicode.IsControl) < 0
}

// isPlainValue reports whether s is a header value that a shim may send: at most maxLen letters,
// digits, '-', '_' and '.'.
func isPlainValue(s string, maxLen int) bool {
	if s == "" || len(s) > maxLen {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}

func isOAuthDiscovery(path string) bool {
	switch path {
	case "/register", "/authorize", "/token":
		return true
	}
	return strings.HasPrefix(path, "/.well-known/") || strings.Contains(path, "/.well-known/")
}

// parseHost parses a Host header or an entry of bridge.allowedHosts: a name of letters, digits,
// '-', '_' and inner dots, or an IP address, with an optional port. IPv6 addresses are in
// brackets. The returned name is in lower case. Everything that parsers could interpret
// differently is rejected: user information, a zone, an IPv4-mapped IPv6 address, a trailing dot,
// an empty label, a port with a sign or a leading zero.
func parseHost(s string) (host string, port uint16, ok bool) {
	rest := ""
	if strings.HasPrefix(s, "[") {
		inside, after, found := strings.Cut(s[1:], "]")
		ip, err := netip.ParseAddr(inside)
		if !found || err != nil || !ip.Is6() || ip.Is4In6() || ip.Zone() != "" {
			return "", 0, false
		}
		host, rest = "["+ip.String()+"]", after
	} else {
		name, after, found := strings.Cut(s, ":")
		if !isHostName(name) {
			return "", 0, false
		}
		host = strings.ToLower(name)
		if found {
			rest = ":" + after
		}
	}
	if rest == "" {
		return host, 0, true
	}
	digits := strings.TrimPrefix(rest, ":")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || rest[0] != ':' || n == 0 || digits != strconv.FormatUint(n, 10) {
		return "", 0, false
	}
	return host, uint16(n), true
}

func isHostName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" {
			return false
		}
		for i := range len(label) {
			c := label[i]
			switch {
			case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			default:
				return false
			}
		}
	}
	return true
}

// allowedHosts is the set of Host headers and origins that are accepted. It is immutable.
type allowedHosts struct {
	entries     []string        // the entries of bridge.allowedHosts that it was built from
	hostHeaders map[string]bool // as browsers write them: with the port unless it is the default port of the scheme
	origins     map[string]bool
}

// newAllowedHosts returns the hosts of a server that listens on own, with the entries of
// bridge.allowedHosts. The address of own may be missing.
func newAllowedHosts(own netip.AddrPort, allowed []string) *allowedHosts {
	port := own.Port()
	h := &allowedHosts{entries: slices.Clone(allowed), hostHeaders: make(map[string]bool), origins: make(map[string]bool)}
	for _, name := range []string{"127.0.0.1", "localhost", "[::1]"} {
		h.add(name, port, "http")
	}
	if own.Addr().Is4() { // ::1, the only loopback address of IPv6, is in the list above
		h.add(own.Addr().String(), port, "http")
	}
	for _, entry := range allowed {
		name, p, ok := parseHost(entry)
		if !ok {
			continue // reported by config; ignored here
		}
		if p == 0 {
			p = port
		}
		h.add(name, p, "http", "https")
	}
	return h
}

func (h *allowedHosts) add(name string, port uint16, schemes ...string) {
	full := name + ":" + strconv.Itoa(int(port))
	h.hostHeaders[full] = true
	for _, scheme := range schemes {
		h.origins[scheme+"://"+full] = true
		if (scheme == "http" && port == 80) || (scheme == "https" && port == 443) {
			h.hostHeaders[name] = true
			h.origins[scheme+"://"+name] = true
		}
	}
}

// allows reports whether a Host header is accepted. The comparison ignores ASCII case.
func (h *allowedHosts) allows(header string) bool {
	return h.hostHeaders[header] || h.hostHeaders[lowerASCII(header)]
}

// lowerASCII converts ASCII letters only: strings.ToLower would map some letters of other scripts
// to ASCII.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

func (h *allowedHosts) allowsOrigin(header string) bool { return h.origins[header] }
