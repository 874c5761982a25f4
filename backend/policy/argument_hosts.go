package policy

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// testHost reports whether the host of a URL matches one of patterns. A URL that programs read
// differently is unknown: with a backslash, white space or another script in it, with an address
// that is not written in the usual way, or without a host after // if its scheme may have one.
func testHost(v reading, patterns []string) truth {
	switch {
	case v.kind == readAbsent:
		return no
	case v.kind != readText || len(v.text) > maxTestedText:
		return unknown
	}
	host, ok := hostOf(strings.TrimSpace(v.text))
	if !ok {
		return unknown
	}
	return exactly(slices.ContainsFunc(patterns, func(p string) bool { return config.Match(p, host) }))
}

var secondURL = osutil.LazyRegexp(`[,;|]["']*(?:[A-Za-z][\w+.-]*:)?//`)

// hostOf returns the host of a URL in lower case, "" if it certainly has none, as file:///etc.
func hostOf(text string) (host string, ok bool) {
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == '\\' || c == 0x7f }) {
		return "", false
	}
	if secondURL().MatchString(text) {
		return "", false // some servers read a list
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return "", false
	}
	if u.User != nil && strings.Contains(u.User.String(), "%40") {
		return "", false // with two @, programs disagree about which one ends the user
	}
	host = strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	switch u.Scheme {
	case "http", "https", "ws", "wss", "ftp":
		if host == "" || u.Opaque != "" {
			return "", false
		}
	case "file":
		if u.Opaque != "" || strings.HasPrefix(u.Path, "//") { // file:////server/share
			return "", false
		}
	case "data", "about":
		if strings.Contains(u.Opaque, "//") {
			return "", false
		}
	default:
		if host == "" { // programs find one in gopher:/host, feed:host and view-source:https://host
			return "", false
		}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().WithZone("").String(), true
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	numeric := last != "" && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
	unusual := strings.ContainsFunc(host, func(c rune) bool { return c > 127 }) || strings.ContainsAny(host, "%,:;'\"<>^`{|}") || strings.HasSuffix(host, ".")
	return host, !numeric && !unusual
}
