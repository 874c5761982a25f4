package registry

import (
	"regexp"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"

	"github.com/yosida95/uritemplate/v3"
)

// maxTemplate is the maximum length of a template that is matched, because servers are untrusted.
// A longer one is listed but not matched.
const maxTemplate = 2048

// matchPasses is the number of matching passes: first strictly by RFC 6570, then with each
// variable matching any text. The second pass exists because many servers write file:///{path}
// and mean a path with slashes.
const matchPasses = 2

// template is a URI template of one server.
type template struct {
	server        string
	raw           string
	strictPattern *regexp.Regexp
	loosePattern  *regexp.Regexp
}

var templateExpression = lazyregexp.New(`\{[^{}]*\}`)

// parseTemplate parses a template. An invalid template matches nothing.
func parseTemplate(server, raw string) template {
	t := template{server: server, raw: raw}
	if len(raw) > maxTemplate {
		return t
	}
	parsed, err := uritemplate.New(raw)
	if err != nil {
		return t
	}
	t.strictPattern = parsed.Regexp()
	var b strings.Builder
	b.WriteString(`\A`)
	at := 0
	for _, span := range templateExpression().FindAllStringIndex(raw, -1) {
		b.WriteString(regexp.QuoteMeta(raw[at:span[0]]))
		b.WriteString(`.+`)
		at = span[1]
	}
	b.WriteString(regexp.QuoteMeta(raw[at:]))
	b.WriteString(`\z`)
	if loose, err := regexp.Compile(b.String()); err == nil && at > 0 {
		t.loosePattern = loose
	}
	return t
}

func (t *template) match(uri string, pass int) bool {
	re := t.strictPattern
	if pass > 0 {
		re = t.loosePattern
	}
	return re != nil && re.MatchString(uri)
}
