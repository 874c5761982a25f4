package redact

import (
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

var (
	ordinaryWord   = osutil.LazyRegexp(`^([A-Z]?[a-z]{1,11}|[A-Z]{1,12})$`)
	ordinaryNames  = osutil.LazyRegexp(`^[a-z]{1,16}([-_.:/@ ][a-z]{1,16})*[-_.:/]?\d{0,5}$`)
	ordinaryNumber = osutil.LazyRegexp(`^[-+]?(\d[.:-]?){0,7}\d$`)
)

// Ordinary reports whether a value whose name denotes no secret is so common that removing it everywhere
// would hide what matters: a path, a word, a short name of lower-case words, a number, a date, an address,
// or a URL of these. docs/security.md states this rule.
func Ordinary(value string) bool {
	value = strings.TrimSpace(value)
	if len(value) < minSecretBytes || filepath.IsAbs(value) || strings.HasPrefix(value, "~/") || ordinaryWord().MatchString(value) || ordinaryNumber().MatchString(value) {
		return true
	}
	if len(value) <= 24 && ordinaryNames().MatchString(value) {
		return true
	}
	if _, err := netip.ParseAddr(value); err == nil {
		return true
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	for part := range strings.SplitSeq(strings.Trim(u.Path, "/"), "/") {
		if part != "" && !Ordinary(part) {
			return false
		}
	}
	return true
}
