package redact

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// masked replaces a value in what is handed to other people.
const masked = "[masked]"

var (
	reference  = osutil.LazyRegexp(`\$\{[^}]*\}`)
	withValue  = osutil.LazyRegexp(`^\$\{([^}]*?):-[^}]*\}$`)
	assignment = osutil.LazyRegexp(`^(-{0,2}[A-Za-z][\w.-]*)=(.*)$`)
	tokenLike  = osutil.LazyRegexp(`[A-Za-z0-9+/_=.~-]{20,}`)
)

// MaskConfig masks every value of a decoded configuration that is or may be a secret, so that it
// is safe to share. That includes all values of environments and headers except references such as
// ${TOKEN}. It changes document, and returns the result, the masked values and the names of
// referenced variables, so that both can be masked elsewhere.
func MaskConfig(document any) (safe any, values, variables []string) {
	m := masker{}
	safe = m.value("", document)
	return safe, m.values, m.variables
}

// secretTables are the keys of objects whose values may all be secrets, also in the spelling of other
// programs.
var secretTables = []string{"env", "environment", "envs", "headers", "http_headers"}

type masker struct{ values, variables []string }

func (m *masker) value(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			switch {
			case slices.Contains(secretTables, key):
				v[k] = m.all(inner)
			default:
				v[k] = m.value(k, inner)
			}
		}
		return v
	case []any:
		switch key {
		case "inheritEnv": // the server receives their values and may print them
			for _, one := range v {
				if name, ok := one.(string); ok {
					m.variables = append(m.variables, name)
				}
			}
			return v
		case "redact", "env", "environment", "envs": // the pattern of a secret may reveal it; a list of NAME=VALUE
			for i := range v {
				v[i] = m.all(v[i])
			}
			return v
		}
		m.list(key, v)
		return v
	case string:
		return m.text(key, v)
	case json.Number:
		if mayNameSecret(key) && !strings.HasSuffix(key, "Ms") {
			return m.all(v)
		}
	}
	return v
}

// list masks arguments: the one after a flag with a secret name, and the value of NAME=value.
func (m *masker) list(key string, list []any) {
	secretNext := false
	for i, one := range list {
		s, ok := one.(string)
		if !ok {
			if secretNext {
				list[i] = m.all(one)
			} else {
				list[i] = m.value(key, one)
			}
			secretNext = false
			continue
		}
		a := assignment().FindStringSubmatch(s)
		switch {
		case secretNext && key == "args":
			if a != nil && strings.Trim(a[1], "-") == a[1] { // -e NAME=value
				list[i] = a[1] + "=" + m.literal(a[2])
			} else {
				list[i] = m.literal(s)
			}
		case a != nil && key == "args" && flagCarriesSecret(a[1]): // --env=NAME=value, --header=NAME: value
			name, value, ok := strings.Cut(a[2], "=")
			if !ok {
				name, value, ok = strings.Cut(a[2], ":")
			}
			if ok {
				list[i] = a[1] + "=" + strings.TrimSuffix(a[2], value) + m.literal(value)
			} else {
				list[i] = a[1] + "=" + m.literal(name)
			}
		case a != nil && mayNameSecret(a[1]):
			list[i] = a[1] + "=" + m.literal(a[2])
		case key == "args" && a != nil:
			list[i] = a[1] + "=" + m.text("", a[2])
		default:
			list[i] = m.text(key, s)
		}
		secretNext = key == "args" && a == nil && strings.HasPrefix(s, "-") && (mayNameSecret(s) || flagCarriesSecret(s))
	}
}

// flagCarriesSecret reports whether the value of a flag is a variable, a header or credentials.
func flagCarriesSecret(flag string) bool {
	switch flag {
	case "-e", "--env", "-H", "--header", "-p", "-u", "--user":
		return true
	}
	return false
}

// text masks parts of a string that may contain a secret.
func (m *masker) text(key, s string) string {
	if mayNameSecret(key) && !harmlessKeys[key] {
		return m.literal(s)
	}
	if strings.Contains(s, "://") {
		s = m.address(s)
	}
	return m.tokens(s)
}

// harmlessKeys are keys of the configuration with a secret-like name and a harmless value.
var harmlessKeys = map[string]bool{"session": true, "approval": true}

func (m *masker) tokens(s string) string {
	return tokenLike().ReplaceAllStringFunc(s, func(word string) string {
		letters, digits := false, false
		for _, part := range strings.FieldsFunc(word, func(r rune) bool { return r == '/' || r == '.' || r == '=' }) {
			if len(part) < 16 {
				continue
			}
			letters = letters || strings.ContainsFunc(part, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
			digits = digits || strings.ContainsFunc(part, func(r rune) bool { return r >= '0' && r <= '9' })
		}
		if !letters || !digits {
			return word
		}
		m.rememberMasked(word)
		return masked
	})
}

// address masks the user, the values of the query and the fragment of a URL.
func (m *masker) address(s string) string {
	u, err := url.Parse(reference().ReplaceAllString(s, "x"))
	if err != nil {
		return m.literal(s)
	}
	if u.User != nil {
		rest := s[strings.Index(s, "://")+3:]
		if at := strings.LastIndex(strings.SplitN(rest, "/", 2)[0], "@"); at >= 0 {
			m.rememberMasked(rest[:at])
			if _, password, ok := strings.Cut(rest[:at], ":"); ok {
				m.rememberMasked(password)
			}
			m.tokens(rest[:at]) // a token may be in the place of the user
			s = strings.Replace(s, rest[:at], masked, 1)
		}
	}
	s, fragment, hasFragment := strings.Cut(s, "#")
	before, query, hasQuery := strings.Cut(s, "?")
	if hasQuery {
		pairs := strings.Split(query, "&")
		for i, pair := range pairs {
			if name, value, ok := strings.Cut(pair, "="); ok {
				pairs[i] = name + "=" + m.literal(value)
			} else {
				pairs[i] = m.literal(pair)
			}
		}
		before += "?" + strings.Join(pairs, "&")
	}
	if hasFragment {
		m.rememberMasked(fragment)
		before += "#" + masked
	}
	// Each segment of the path is masked separately, so that the rest stays readable.
	parts := strings.Split(before, "/")
	for i, part := range parts {
		if !strings.Contains(part, masked) {
			parts[i] = m.tokens(part)
		}
	}
	return strings.Join(parts, "/")
}

func (m *masker) all(v any) any {
	switch v := v.(type) {
	case string:
		return m.literal(v)
	case json.Number:
		return m.literal(v.String())
	case map[string]any:
		for k, inner := range v {
			v[k] = m.all(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = m.all(inner)
		}
	}
	return v
}

// literal masks everything except references, whose defaults are masked.
func (m *masker) literal(s string) string {
	if s == "" {
		return s
	}
	var b strings.Builder
	at := 0
	for _, r := range reference().FindAllStringIndex(s, -1) {
		if r[0] > at {
			m.rememberMasked(s[at:r[0]])
			b.WriteString(masked)
		}
		ref := s[r[0]:r[1]]
		name, _, _ := strings.Cut(strings.TrimPrefix(ref[2:len(ref)-1], "env:"), ":-")
		m.variables = append(m.variables, name)
		if d := withValue().FindStringSubmatch(ref); d != nil {
			m.rememberMasked(ref[len(d[1])+4 : len(ref)-1])
			ref = "${" + d[1] + ":-" + masked + "}"
		}
		b.WriteString(ref)
		at = r[1]
	}
	if at < len(s) {
		m.rememberMasked(s[at:])
		b.WriteString(masked)
	}
	return b.String()
}

// rememberMasked remembers a masked value. Short values are common and reveal nothing.
func (m *masker) rememberMasked(value string) {
	const short = 6
	for _, v := range []string{value, strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(value, "Bearer "), "Basic "))} {
		if len(v) >= short && !absolutePath(v) { // masking a path everywhere would hide what matters
			m.values = append(m.values, v)
		}
	}
}

var (
	quotedString = osutil.LazyRegexp(`"(?:[^"\\]|\\.)*"|'[^']*'`)
	// bareKey matches an unquoted name before a value, in TOML and YAML.
	bareKey = osutil.LazyRegexp(`([A-Za-z0-9_.-]+)\s*[=:]\s*$`)
	// plainValue matches a line with an unquoted value: key: value, "key": 1, key = 1, - value.
	plainValue = osutil.LazyRegexp(`^\s*(?:- )?(?:"([^"]+)"\s*:\s*|([A-Za-z0-9_.-]+)(?::\s+|\s*=\s*))?([^\s"'\[\]{}#&*!|>,:=][^"']*)$`)
	// flagLine matches a line that ends with a flag, and valueLine one that begins with the value
	// of a flag: lists are often written with one item per line.
	flagLine  = osutil.LazyRegexp(`(?:^\s*- |["'])--?([^"'\s=]+)["']?\s*,?\s*$`)
	valueLine = osutil.LazyRegexp(`^\s*(?:- )?(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:[,\]#]|$)|^\s*- ([^\s"'\[\]{}].*)$`)
	// credentials matches an authentication scheme with its credentials.
	credentials = osutil.LazyRegexp(`(?i:bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	// onlyReference matches a value that consists of nothing but a reference in our syntax.
	onlyReference = osutil.LazyRegexp(`^(?:[A-Za-z]+ )?\$\{(?:secret:)?[A-Za-z0-9._/@-]+\}$`)
)

// isReference reports whether a value is only a reference, which reveals nothing about a secret.
func isReference(value string) bool { return onlyReference().MatchString(value) }

// Lines returns lines[from:to] of a configuration file in JSON, TOML or YAML with secrets replaced
// by "***". The lines before them matter: they may contain the flag of a value, or the start of a
// private key.
func Lines(lines []string, from, to int) []string {
	out := make([]string, 0, to-from)
	inKey := false // within a private key
	for i, line := range lines[:to] {
		line = strings.TrimRight(line, "\r")
		ends := strings.Contains(line, "-----END ")
		if i >= from {
			out = append(out, maskLineAfter(lines[max(0, i-1)], i > 0, line, inKey))
		}
		if at := strings.LastIndex(line, pemPrefix); at >= 0 {
			inKey = strings.Contains(line[at:], "PRIVATE KEY") && !ends
		} else if ends {
			inKey = false
		}
	}
	return out
}

func maskLineAfter(previous string, hasPrevious bool, line string, inKey bool) string {
	if inKey {
		return line[:len(line)-len(strings.TrimLeft(line, " \t"))] + "***"
	}
	if hasPrevious {
		if m := flagLine().FindStringSubmatch(strings.TrimRight(previous, "\r")); m != nil && namesConfigSecret(m[1]) {
			line = maskFirstValue(line)
		}
	}
	return maskLine(line)
}

// maskFirstValue masks the first value of a line, unless it is another flag or a reference.
func maskFirstValue(line string) string {
	m := valueLine().FindStringSubmatchIndex(line)
	if m == nil {
		return line
	}
	for group := 2; group < len(m); group += 2 {
		from, to := m[group], m[group+1]
		if from < 0 || from == to || line[from] == '-' || isReference(line[from:to]) {
			continue
		}
		return line[:from] + "***" + line[to:]
	}
	return line
}

// maskLine masks the secrets of a line and keeps the quotes around them.
func maskLine(line string) string {
	return credentials().ReplaceAllString(replaceTokens(maskValues(line), true, func(string) string { return "***" }), "***")
}

// maskValues masks each value of a line that is secret by the name before it or by its own form.
// Text other than quoted values and plain YAML values is not changed.
func maskValues(line string) string {
	if m := plainValue().FindStringSubmatchIndex(line); m != nil {
		key := ""
		for _, group := range []int{2, 4} {
			if m[group] >= 0 {
				key = line[m[group]:m[group+1]]
			}
		}
		return line[:m[6]] + maskValue(key, line[m[6]:m[7]])
	}
	var out strings.Builder
	key, end := "", 0 // name of the next value; offset behind the text written so far
	for _, m := range quotedString().FindAllStringIndex(line, -1) {
		between, word := line[end:m[0]], line[m[0]+1:m[1]-1]
		out.WriteString(between)
		end = m[1]
		if bare := bareKey().FindStringSubmatch(between); bare != nil {
			key = bare[1]
		}
		switch flag := option().FindStringSubmatch(word); {
		case startsWithKeySeparator(line[end:]):
			key = word
			out.WriteString(line[m[0]:m[1]])
			continue
		case flag != nil && flag[2] == "":
			key = flag[1]
			out.WriteString(line[m[0]:m[1]])
			continue
		}
		out.WriteString(line[m[0]:m[0]+1] + maskValue(key, word) + line[m[1]-1:m[1]])
		key = ""
	}
	return out.String() + line[end:]
}

// startsWithKeySeparator reports whether the text after a quoted word makes that word a key.
func startsWithKeySeparator(rest string) bool {
	rest = strings.TrimLeft(rest, " \t")
	return strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=")
}

// maskValue returns the value of key with its secret parts replaced.
func maskValue(key, value string) string {
	switch {
	case isReference(value):
		return value
	case strings.HasPrefix(value, "-") && strings.Contains(value, "="):
		flag, rest, _ := strings.Cut(value, "=")
		return flag + "=" + maskValue(strings.TrimLeft(flag, "-"), rest)
	case mayNameSecret(key):
		return "***"
	}
	r := &Replacer{mask: true}
	if strings.Contains(value, "://") {
		return r.URL(value) // only the password and secret parameters are masked
	}
	plain := r.Value(key, strings.ReplaceAll(value, `\"`, `"`))
	switch {
	case r.replaced == 0:
		return value // in its original spelling
	case strings.Contains(value, `\"`):
		return strings.ReplaceAll(plain, `"`, `\"`)
	}
	return plain
}
