package loopback

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

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
