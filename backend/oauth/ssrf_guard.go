package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Limits for responses of untrusted servers.
const (
	maxDocument    = 256 << 10 // bytes of a metadata document or token response
	maxHeaders     = 64 << 10
	maxRedirects   = 3
	requestTimeout = 15 * time.Second // timeout of one request including redirects
	lookupTimeout  = 5 * time.Second  // timeout of the lookup of the server's name
	maxMCPHeaders  = 256 << 10        // for the MCP server itself, same limit as in package wire
)

// zone classifies addresses. A larger zone is further inside the private network.
type zone int32

const (
	public zone = iota + 1
	private
	loopback
	forbidden // link-local (such as cloud metadata services), multicast, reserved
)

func (z zone) String() string {
	return map[zone]string{public: "public", private: "private", loopback: "local", forbidden: "reserved"}[z]
}

var (
	reservedPrefixes = parsePrefixes("0.0.0.0/8", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", "2001::/32", "100::/64", "fec0::/10")
	cgnatPrefixes    = parsePrefixes("100.64.0.0/10")
	nat64            = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour        = netip.MustParsePrefix("2002::/16")
	ipv4Compatible   = netip.MustParsePrefix("::/96")
)

func parsePrefixes(list ...string) (all []netip.Prefix) {
	for _, one := range list {
		all = append(all, netip.MustParsePrefix(one))
	}
	return all
}

// zoneOf returns the zone of an IP address. An IPv6 address that embeds an IPv4 address (mapped,
// compatible, NAT64, 6to4) has the zone of the embedded address.
func zoneOf(ip netip.Addr) zone {
	ip = ip.Unmap().WithZone("")
	switch {
	case !ip.IsValid(), ip.IsUnspecified():
		return forbidden
	case ip.IsLoopback():
		return loopback
	}
	if ip.Is6() {
		b := ip.As16()
		switch {
		case nat64.Contains(ip), ipv4Compatible.Contains(ip):
			return zoneOf(netip.AddrFrom4([4]byte(b[12:16])))
		case sixToFour.Contains(ip):
			return zoneOf(netip.AddrFrom4([4]byte(b[2:6])))
		}
	}
	if ip.IsLinkLocalUnicast() || ip.IsMulticast() {
		return forbidden
	}
	for _, p := range reservedPrefixes {
		if p.Contains(ip) {
			return forbidden
		}
	}
	if ip.IsPrivate() {
		return private
	}
	for _, p := range cgnatPrefixes {
		if p.Contains(ip) {
			return private
		}
	}
	return public
}

// zoneOfHost returns the zone of an IP address or a localhost name, without a DNS lookup. It
// returns 0 for any other name.
func zoneOfHost(host string) zone {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return loopback
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return zoneOf(ip)
	}
	if unusualAddress(host) {
		return forbidden
	}
	return 0
}

// unusualAddress reports whether a browser may read a host as an IP address that is not written in the usual
// way, such as 2130706433, 127.1, 0x7f.0.0.1 or １２７.0.0.1: its last part is a number.
func unusualAddress(host string) bool {
	last := strings.TrimSuffix(host, ".")
	last = last[strings.LastIndexByte(last, '.')+1:]
	return last != "" && (strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")) || strings.ContainsFunc(host, func(c rune) bool { return c >= 0x80 || c == '%' })
}

// blockedError is the error for a request or response that the guard blocks.
type blockedError struct{ what string }

func (e *blockedError) Error() string { return e.what }

// guard makes the requests to URLs that a server named, such as its authorization server, and
// blocks those that lead further into the private network than the server itself.
type guard struct {
	server *url.URL // nil if unknown
	// configuredZone is the zone of the address in the server's URL, at least public.
	configuredZone zone
	// serverZone is the zone in which the server was last reached, 0 if it is not known yet. The
	// URLs that it names must not lead to a larger zone.
	serverZone atomic.Int32
	lookup     func(ctx context.Context, network, host string) ([]netip.Addr, error)
	client     *http.Client

	mu      sync.Mutex
	proxies map[string]bool // host:port of the proxies from the environment
}

// newGuard returns the guard for the URLs that server names, which is nil if it is not known.
func newGuard(server *url.URL) *guard {
	g := &guard{server: server, configuredZone: public, lookup: net.DefaultResolver.LookupNetIP, proxies: map[string]bool{}}
	if server == nil {
		g.serverZone.Store(int32(public))
	} else if z := zoneOfHost(server.Hostname()); z != 0 {
		if z != forbidden {
			g.configuredZone = z
		}
		g.serverZone.Store(int32(g.configuredZone))
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: -1}
	checked := *dialer
	checked.Control = func(_, address string, _ syscall.RawConn) error { return g.checkDial(address) }
	g.client = &http.Client{
		Timeout: requestTimeout,
		Transport: &http.Transport{
			Proxy: g.proxy, MaxResponseHeaderBytes: maxHeaders, TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2: true, DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if g.isProxy(address) {
					return dialer.DialContext(ctx, network, address)
				}
				return checked.DialContext(ctx, network, address)
			},
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return &blockedError{"too many redirects"}
			}
			if via[0].Method != http.MethodGet {
				return &blockedError{"it redirected a request that contains secrets"}
			}
			if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
				return &blockedError{"it redirected from https to " + sanitize(req.URL.Scheme, 20)}
			}
			return g.checkURL(req.URL)
		},
	}
	return g
}

// proxy is http.ProxyFromEnvironment and records the proxies that it returns.
func (g *guard) proxy(req *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(req)
	if u != nil {
		port := u.Port()
		if port == "" {
			port = map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
		}
		if port == "" {
			port = "80"
		}
		g.mu.Lock()
		g.proxies[net.JoinHostPort(u.Hostname(), port)] = true
		g.mu.Unlock()
	}
	return u, err
}

func (g *guard) isProxy(address string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.proxies[address]
}

// checkDial checks a resolved address at the time of the dial. A check at an earlier time is not
// sufficient, because a second lookup of a name can return another address.
func (g *guard) checkDial(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &blockedError{"its address is not valid"}
	}
	return g.checkZone(zoneOf(at.Addr()))
}

func (g *guard) checkZone(z zone) error {
	allowed := max(zone(g.serverZone.Load()), public)
	if z <= allowed {
		return nil
	}
	return &blockedError{fmt.Sprintf("it points to a %s address, but the server has a %s address", z, allowed)}
}

// checkURL checks a URL before it is resolved: it must use https, or http to the loopback interface
// if the server is there as well, and contain no credentials.
func (g *guard) checkURL(u *url.URL) error {
	z := zoneOfHost(u.Hostname())
	switch {
	case u.Host == "" || u.Hostname() == "" || u.User != nil || u.Opaque != "":
		return &blockedError{"it is not an http or https URL"}
	case u.Scheme == "http" && z != loopback:
		return &blockedError{"it uses http and points to another machine"}
	case u.Scheme != "https" && u.Scheme != "http":
		return &blockedError{fmt.Sprintf("its scheme is %q", sanitize(u.Scheme, 20))}
	}
	return g.checkZone(max(z, public))
}

// parseURL parses and checks a URL from an untrusted source. what is the name of the URL in errors.
func (g *guard) parseURL(what, address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || len(address) > 4096 {
		return nil, &blockedError{what + ": it is not a URL"}
	}
	if err := g.checkURL(u); err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, displayURL(u), err)
	}
	if u.Fragment != "" {
		return nil, &blockedError{what + " has a fragment"}
	}
	return u, nil
}

// determineZone determines the zone of a server that was not reached yet by resolving its name. A
// stored token is refreshed before the first request to the server. If the name has several
// addresses, the smallest zone applies. Behind a proxy the zone is public.
func (g *guard) determineZone(ctx context.Context) {
	if g.serverZone.Load() != 0 {
		return
	}
	if via, err := g.proxy(&http.Request{URL: g.server}); via != nil || err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addresses, err := g.lookup(ctx, "ip", g.server.Hostname())
	if err != nil {
		return // the next request tries again
	}
	found := zone(0)
	for _, a := range addresses {
		if z := zoneOf(a); z != forbidden && (found == 0 || z < found) {
			found = z
		}
	}
	g.serverZone.CompareAndSwap(0, int32(found)) // the server may have been reached in the meantime
}

// recordZone records the zone in which the server itself was reached. Behind a proxy it is the zone
// of the address in the server's URL.
func (g *guard) recordZone(addr net.Addr, proxied bool) {
	z := public
	if at, err := netip.ParseAddrPort(addr.String()); err == nil && !proxied {
		z = zoneOf(at.Addr())
	}
	if z == forbidden {
		z = public
	}
	g.serverZone.Store(int32(max(z, g.configuredZone)))
}

// fetchJSON fetches a JSON document. ok is false if the status is not 200 or the content type is
// not JSON. A 5xx status is an error.
func (g *guard) fetchJSON(ctx context.Context, address string) (body []byte, ok bool, err error) {
	if _, err := g.parseURL("the address", address); err != nil {
		return nil, false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, false, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := g.client.Do(req)
	if err != nil {
		return nil, false, stripURL(err)
	}
	defer resp.Body.Close()
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 500:
		return nil, false, fmt.Errorf("it responded with HTTP status %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK, !strings.HasSuffix(media, "json"):
		return nil, false, nil
	}
	body, err = readLimited(resp.Body)
	return body, err == nil, err
}

func readLimited(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err == nil && len(body) > maxDocument {
		err = &blockedError{fmt.Sprintf("its response is larger than %d KiB", maxDocument>>10)}
	}
	return body, err
}

// stripURL returns err without the URL, whose query may contain a secret.
func stripURL(err error) error {
	if own, ok := errors.AsType[*blockedError](err); ok {
		return own
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		return outer.Err
	}
	return err
}

// displayURL formats a URL for messages, without credentials, query and fragment.
func displayURL(u *url.URL) string {
	return sanitize(u.Scheme+"://"+u.Host+u.Path, 200)
}

// sanitize prepares untrusted text for a one-line message. It removes control and invisible
// formatting characters and truncates the text to most runes.
func sanitize(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r < ' ' || r == 0x7F || 0x80 <= r && r < 0xA0 || 0x200B <= r && r <= 0x200F || 0x202A <= r && r <= 0x202E || 0x2060 <= r && r <= 0x206F || r == 0xFEFF:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return core.Shorten(text, most)
}

// serverTransport returns the transport for requests to the server itself. It reports the zone of
// each connection to the guard.
func (g *guard) serverTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxMCPHeaders
	t.Proxy = g.proxy
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			g.recordZone(conn.RemoteAddr(), g.isProxy(address))
		}
		return conn, err
	}
	return t
}

func newError(code core.Code, hint string, cause error, format string, args ...any) error {
	return &core.Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint, Cause: cause}
}
