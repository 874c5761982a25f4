package config

import (
	"net/netip"
	"slices"
	"strings"
)

// Suggestions for host patterns that no host can match.
const (
	onlyHost      = "write only the host, such as *.example.com, and internationalized names in Punycode (xn--…)"
	withoutPort   = "write the host without the port: it matches on every port"
	withoutScheme = "write only the host, without a scheme, such as *.example.com"
	wholeAddress  = "write the address as four decimal numbers, such as 127.0.0.1, or use a wildcard, such as 127.*"
	shortIPv6     = "write an IPv6 address in its short form, such as ::1 or fd00:1:*"
)

// hostPattern returns the pattern in the form in which hosts are compared: in lower case, without
// trailing dot, and addresses in their short form without brackets and zone. If no host can match
// it, suggestion says what to write.
func hostPattern(text string) (pattern, suggestion string) {
	p := strings.ToLower(strings.TrimSuffix(text, "."))
	inner, bracket := strings.CutPrefix(p, "[")
	switch {
	case text == "": // URLs without a host
		return "", ""
	case strings.Contains(p, "://"):
		return p, withoutScheme
	case p == "" || strings.HasSuffix(p, ".") || strings.ContainsAny(p, `/@\`) || strings.ContainsFunc(p, func(c rune) bool { return c <= ' ' || c >= 0x7f }):
		return p, onlyHost
	case bracket && strings.Contains(inner, "]:"):
		return p, withoutPort
	case bracket:
		if p = strings.TrimSuffix(inner, "]"); p == inner || !strings.Contains(p, ":") {
			return p, shortIPv6
		}
	}
	if addr, err := netip.ParseAddr(p); err == nil {
		return addr.Unmap().WithZone("").String(), ""
	}
	if before, after, ok := strings.Cut(p, ":"); ok {
		return p, checkColons(p, before, after)
	}
	if last := p[strings.LastIndexByte(p, '.')+1:]; !strings.ContainsAny(p, "*?") && (isDigits(last) || strings.HasPrefix(last, "0x")) {
		return p, wholeAddress
	}
	return p, ""
}

// checkColons returns what to write instead of a pattern with colons that is not an address. It
// accepts IPv6 addresses with wildcards.
func checkColons(p, before, after string) (suggestion string) {
	isGroup := func(g string) bool {
		return len(g) <= 4 && strings.Trim(g, "0123456789abcdef*?") == "" && (len(g) == 1 || !strings.HasPrefix(g, "0"))
	}
	switch groups := strings.Split(p, ":"); {
	case strings.Contains(after, ":"):
		if !strings.ContainsAny(p, "*?") || len(groups) > 8 || !slices.ContainsFunc(groups, isGroup) || slices.ContainsFunc(groups, func(g string) bool { return g != "" && !isGroup(g) }) {
			return shortIPv6
		}
	case after == "*" && before != "" && before != "*" && isGroup(before):
	case isDigits(after) || after == "*" && before != "http" && before != "https":
		return withoutPort
	default:
		return withoutScheme
	}
	return ""
}

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
