package registry

import (
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// template is a URI template of one server.
type template struct {
	server   string
	raw      string   // the server's own template
	public   string   // what clients see; set by resourceURIs
	literals []string // the text around the expressions; nil if the template is invalid
}

var templateExpression = osutil.LazyRegexp(`\{[^{}]*\}`)

// parseTemplate parses a template. An invalid template matches nothing.
func parseTemplate(server, raw string) template {
	t := template{server: server, raw: raw, public: raw, literals: templateExpression().Split(raw, -1)}
	if slices.ContainsFunc(t.literals, func(s string) bool { return strings.ContainsAny(s, "{}") }) {
		t.literals = nil
	}
	return t
}

// match reports whether uri may be an expansion of the template. Each expression matches any text,
// because many servers write file:///{path} and mean a path with slashes, which RFC 6570 excludes.
func (t *template) match(uri string) bool {
	last := len(t.literals) - 1
	if last < 0 || strings.ContainsAny(uri, "\r\n") {
		return false
	}
	rest, ok := strings.CutPrefix(uri, t.literals[0])
	if !ok || last == 0 {
		return ok && rest == ""
	}
	for _, literal := range t.literals[1:last] {
		if _, rest, ok = strings.Cut(rest, literal); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, t.literals[last])
}

// overlaps reports whether two templates may have an expansion in common. It compares the text
// before the first expression and after the last one, so it may report true for some that have none.
func (t *template) overlaps(o *template) bool {
	if t.raw == o.raw {
		return true
	}
	if t.literals == nil || o.literals == nil {
		return false
	}
	before, otherBefore := t.literals[0], o.literals[0]
	after, otherAfter := t.literals[len(t.literals)-1], o.literals[len(o.literals)-1]
	return (strings.HasPrefix(before, otherBefore) || strings.HasPrefix(otherBefore, before)) &&
		(strings.HasSuffix(after, otherAfter) || strings.HasSuffix(otherAfter, after))
}
