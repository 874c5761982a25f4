package redact

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

var (
	schemePrefix = osutil.LazyRegexp(`(?is)^((?:bearer|basic|token|apikey)\s+)(\S.*)$`)
	namedValue   = osutil.LazyRegexp(`(?s)^([A-Za-z][A-Za-z0-9_.-]*)(=|:\s*)(\S.*)$`)
	// of a connection string: "Server=db;User Id=sa;Password=x;"
	connectionPassword = osutil.LazyRegexp(`(?i)(;[\t ]*(?:password|accountkey|sharedaccesskey)[\t ]*=[\t ]*)([^;"'\s]{4,})`)
	option             = osutil.LazyRegexp(`(?s)^--?([A-Za-z][A-Za-z0-9_-]*)(=(.*))?$`)
	harmlessValue      = osutil.LazyRegexp(`(?i)^(true|false|yes|no|none|null|\d{1,4}|/.*|[a-z]:\\.*|~/.*)$`)
)

// Replacer replaces the literal secrets in the entry of a server in a configuration file. What is
// not a secret keeps its text.
type Replacer struct {
	// Replace returns what replaces the value of a secret. name is that of the variable, header,
	// option or parameter.
	Replace func(name, value string) string

	mask     bool // replace secrets with their scheme by ***, also beside references
	replaced int  // number of replacements
}

// Whole replaces a value that is known to be a secret.
func (r *Replacer) Whole(name, value string) string {
	r.replaced++
	if r.mask {
		return "***"
	}
	if m := schemePrefix().FindStringSubmatch(value); m != nil {
		return m[1] + r.Replace(name, m[2])
	}
	return r.Replace(name, value)
}

// isSecret reports whether the value of key must not be in a file. A value that refers to a
// variable is not a secret.
func (r *Replacer) isSecret(key, value string) bool {
	if value == "" || strings.Contains(value, "${") && (!r.mask || isReference(value)) {
		return false
	}
	bare := value
	if m := schemePrefix().FindStringSubmatch(value); m != nil {
		bare = m[2]
	}
	return isToken(bare) || namesConfigSecret(key) && len(value) >= 4 && !harmlessValue().MatchString(value) || hasPassword(value)
}

// hasPassword reports whether value is a URL with a password, such as
// postgres://user:password@host/db.
func hasPassword(value string) bool {
	u, err := url.Parse(value)
	if err != nil || u.User == nil || u.Host == "" {
		return false
	}
	password, ok := u.User.Password()
	return ok && password != ""
}

// Map replaces the secrets among the values of m.
func (r *Replacer) Map(m map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		m[key] = r.Value(key, m[key])
	}
}

// Value replaces the value of a key, or its secret parts: NAME=VALUE, a header, parameters of a
// URL, or values within JSON text.
func (r *Replacer) Value(key, value string) string {
	if r.isSecret(key, value) {
		return r.Whole(cmp.Or(key, "value"), value)
	}
	return r.parts(value)
}

func (r *Replacer) parts(value string) string {
	if m := namedValue().FindStringSubmatch(value); m != nil && r.isSecret(m[1], m[3]) {
		return m[1] + m[2] + r.Whole(m[1], m[3])
	}
	if strings.Contains(value, "://") {
		value = r.URL(value)
	}
	value = connectionPassword().ReplaceAllStringFunc(value, func(part string) string {
		m := connectionPassword().FindStringSubmatch(part)
		if strings.Contains(m[2], "${") {
			return part
		}
		return m[1] + r.Whole("password", m[2])
	})
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		return r.json(value)
	}
	return r.tokens(value)
}

func (r *Replacer) tokens(text string) string {
	return replaceTokens(text, false, func(token string) string { return r.Whole("value", token) })
}

// json replaces the secrets in JSON text. It preserves the formatting where possible. In text that
// is not valid JSON, it replaces secrets that are recognized by their form.
func (r *Replacer) json(text string) string {
	var value any
	if core.DecodeJSON([]byte(text), &value) != nil {
		return r.tokens(text)
	}
	out, before := text, r.replaced
	plain := r.decoded("", value, func(old, now string) { out = strings.ReplaceAll(out, encode(old), encode(now)) })
	if r.replaced == before {
		return text
	}
	var left any
	if json.Unmarshal([]byte(out), &left) == nil && encode(left) == encode(plain) {
		return out
	}
	return encode(plain) // the text uses other escapes
}

func encode(v any) string {
	text, _ := core.EncodeJSON(v)
	return string(text)
}

// Args replaces the values of --token=VALUE and --token VALUE, secrets recognized by their form,
// and secret parts of other arguments.
func (r *Replacer) Args(args []string) {
	name := ""
	for i, a := range args {
		m := option().FindStringSubmatch(a)
		switch {
		case m != nil && m[2] != "":
			args[i] = a[:len(a)-len(m[3])] + r.Value(m[1], m[3])
		case m == nil && r.isSecret(cmp.Or(name, "arg"), a):
			args[i] = r.Whole(cmp.Or(name, "argument"), a)
		case m == nil:
			args[i] = r.parts(a)
		}
		if name = ""; m != nil && m[2] == "" {
			name = m[1]
		}
	}
}

// URL replaces the password and the secret parameters of a URL. The rest stays readable.
func (r *Replacer) URL(s string) string {
	u, err := url.Parse(s)
	if err != nil || strings.Contains(s, "${") {
		return s
	}
	if password, ok := u.User.Password(); ok && password != "" {
		_, rest, _ := strings.Cut(s, "://")
		if user, _, ok := strings.Cut(rest, "@"); ok {
			name, written, _ := strings.Cut(user, ":")
			s = strings.Replace(s, user+"@", name+":"+r.Whole("password", written)+"@", 1)
		}
	}
	path, query, ok := strings.Cut(s, "?")
	if !ok {
		return s
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if key, value, ok := strings.Cut(part, "="); ok && r.isSecret(key, value) {
			parts[i] = key + "=" + r.Whole(key, value)
		}
	}
	s = path + "?" + strings.Join(parts, "&")
	if hasFragment {
		s += "#" + fragment
	}
	return s
}

// decoded replaces the secrets in a decoded value, and calls changed, unless nil, for each text
// that differs.
func (r *Replacer) decoded(key string, value any, changed func(old, now string)) any {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = r.decoded(name, v[name], changed)
		}
	case []any:
		if key == "args" {
			r.argList(v)
			break
		}
		for i := range v {
			v[i] = r.decoded("", v[i], changed)
		}
	case string:
		now := v
		if key == "url" || key == "httpUrl" {
			now = r.URL(v)
		} else {
			now = r.Value(key, v)
		}
		if now != v && changed != nil {
			changed(v, now)
		}
		return now
	}
	return value
}

// argList is Args for a list that may contain values other than strings.
func (r *Replacer) argList(all []any) {
	words := make([]string, len(all))
	for i, one := range all {
		words[i], _ = one.(string)
	}
	r.Args(words)
	for i, one := range all {
		if _, is := one.(string); is {
			all[i] = words[i]
		} else {
			all[i] = r.decoded("args", one, nil)
		}
	}
}
