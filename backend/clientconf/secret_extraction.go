package clientconf

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// Vault stores secrets outside of our configuration. *secret.Store implements it.
type Vault interface {
	Get(ctx context.Context, name string) (string, error)
	SetAll(ctx context.Context, values map[string]string) error
	Remove(ctx context.Context, names ...string) (ok bool, err error)
}

var (
	// secretName matches the name of a variable, header or option whose value is a secret.
	secretName = lazyregexp.New(`(?i)(token|secret|passw(or)?d|passphrase|api[-_]?keys?|access[-_]?key|private[-_]?key|auth[-_]?key|authorization|credentials?|cookie|connection[-_]?string|(^|[-_])(pat|pwd|pass|key))([-_]?\d+)?$`)
	// secretValue matches a secret by its form, regardless of its name.
	secretValue = lazyregexp.New(`^(dbr_|gh[pousr]_|github_pat_|sk-|xox[abeprs]-|glpat-|AKIA|AIza|eyJ[A-Za-z0-9_-]+\.|npm_|pypi-|hf_|SG\.|shp(at|ss)_|-----BEGIN )`)
	withScheme  = lazyregexp.New(`(?i)^((?:bearer|basic|token|apikey)\s+)(\S.*)$`)
	notInName   = lazyregexp.New(`[^A-Za-z0-9._-]+`)
	inNamed     = lazyregexp.New(`^([A-Za-z][A-Za-z0-9_.-]*)(=|:\s*)(\S.*)$`)
	optionOf    = lazyregexp.New(`^--?([A-Za-z][A-Za-z0-9_-]*)(=(.*))?$`)
	harmless    = lazyregexp.New(`(?i)^(true|false|yes|no|none|null|\d{1,4}|/.*|[a-z]:\\.*|~/.*)$`)
)

// hiding replaces the literal secrets of one server by references to a vault.
type hiding struct {
	label  string
	taken  func(name, value string) bool // the name is in use for another value
	values map[string]string
	known  func(value string) bool // value contains a secret that is stored elsewhere; may be nil
	puts   int                     // number of replacements
	mask   bool                    // replace secrets by *** and store nothing
}

// isSecret reports whether the value of key must not be written to a file. A value that
// refers to a variable is not a secret.
func isSecret(key, value string) bool {
	if value == "" || strings.Contains(value, "${") {
		return false
	}
	_, bare := scheme(value)
	return secretValue().MatchString(bare) || secretName().MatchString(key) && len(value) >= 4 && !harmless().MatchString(value) || hasPassword(value)
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

// scheme splits off an authentication scheme such as "Bearer ".
func scheme(value string) (prefix, rest string) {
	if m := withScheme().FindStringSubmatch(value); m != nil {
		return m[1], m[2]
	}
	return "", value
}

// put stores value under a name derived from key, and returns the reference to it.
func (h *hiding) put(key, value string) string {
	if h.mask {
		h.puts++
		return "***"
	}
	prefix, bare := scheme(value)
	base := strings.Trim(notInName().ReplaceAllString(h.label+"."+key, "-"), ".-_")
	name := base
	for n := 2; h.taken(name, bare) || h.values[name] != "" && h.values[name] != bare; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	h.values[name] = bare
	h.puts++
	return prefix + "${secret:" + name + "}"
}

func (h *hiding) table(m map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		m[key] = h.word(key, m[key])
	}
}

// word replaces the value of a key, or its secret parts.
func (h *hiding) word(key, value string) string {
	if isSecret(key, value) || h.keeps(value) {
		return h.put(cmp.Or(key, "value"), value)
	}
	return h.part(value)
}

func (h *hiding) keeps(value string) bool { return h.known != nil && h.known(value) }

// part replaces the secret parts of a value: NAME=VALUE, a header, parameters of a URL, or
// values within JSON text.
func (h *hiding) part(value string) string {
	if m := inNamed().FindStringSubmatch(value); m != nil && isSecret(m[1], m[3]) {
		return m[1] + m[2] + h.put(m[1], m[3])
	}
	if strings.Contains(value, "://") {
		return h.address(value)
	}
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		return h.inside(value)
	}
	return value
}

// inside replaces the secrets in JSON text. It preserves the formatting where possible.
func (h *hiding) inside(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil || d.More() {
		return text
	}
	out, before := text, h.puts
	plain := h.within("", value, func(old, now string) { out = strings.ReplaceAll(out, quoted(old), quoted(now)) })
	if h.puts == before {
		return text
	}
	var left any
	if json.Unmarshal([]byte(out), &left) == nil && quoted(left) == quoted(plain) {
		return out
	}
	return quoted(plain) // the text uses other escapes
}

func quoted(v any) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return strings.TrimSuffix(out.String(), "\n")
}

// args replaces the values of --token=VALUE and --token VALUE, secrets recognized by their
// form, and secret parts of other arguments.
func (h *hiding) args(args []string) {
	option := ""
	for i, a := range args {
		m := optionOf().FindStringSubmatch(a)
		switch {
		case m != nil && m[2] != "":
			args[i] = a[:len(a)-len(m[3])] + h.word(m[1], m[3])
		case m == nil && isSecret(cmp.Or(option, "arg"), a):
			args[i] = h.put(cmp.Or(option, "argument"), a)
		case m == nil && h.keeps(a):
			args[i] = h.put("argument", a)
		case m == nil:
			args[i] = h.part(a)
		}
		if option = ""; m != nil && m[2] == "" {
			option = m[1]
		}
	}
}

// address replaces the password and the secret parameters of a URL. The rest stays readable.
func (h *hiding) address(s string) string {
	u, err := url.Parse(s)
	if err != nil || strings.Contains(s, "${") {
		return s
	}
	if password, ok := u.User.Password(); ok && password != "" {
		_, rest, _ := strings.Cut(s, "://")
		if user, _, ok := strings.Cut(rest, "@"); ok {
			name, written, _ := strings.Cut(user, ":")
			s = strings.Replace(s, user+"@", name+":"+h.put("password", written)+"@", 1)
		}
	}
	path, query, ok := strings.Cut(s, "?")
	if !ok {
		return s
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if key, value, ok := strings.Cut(part, "="); ok && isSecret(key, value) {
			parts[i] = key + "=" + h.put(key, value)
		}
	}
	s = path + "?" + strings.Join(parts, "&")
	if hasFragment {
		s += "#" + fragment
	}
	return s
}

// hide replaces the literal secrets of every new server by references. The values stay in the
// import until it is applied.
func (c *Connector) hide(all []Import) error {
	if c.vault == nil {
		return nil
	}
	values := map[string]string{} // shared, because two servers may have the same label
	for n := range all {
		i := &all[n]
		if i.Skip != "" || i.Have {
			continue
		}
		e := &ownEntry{}
		if err := json.Unmarshal(i.plain, e); err != nil {
			return err
		}
		h := &hiding{label: i.Label, values: map[string]string{}, taken: func(name, value string) bool {
			if other, ok := values[name]; ok {
				return other != value
			}
			old, err := c.vault.Get(context.Background(), name)
			return err == nil && old != value
		}}
		for _, key := range i.secret {
			for _, table := range []map[string]string{e.Env, e.Headers} {
				if value, ok := table[key]; ok {
					table[key] = h.put(key, value)
				}
			}
		}
		h.table(e.Env)
		h.table(e.Headers)
		before := len(h.values)
		h.args(e.Args)
		if len(h.values) > before {
			i.Notes = append(i.Notes, "A secret among its arguments can be read by other programs while it runs, as before")
		}
		e.URL = h.address(e.URL)
		if len(h.values) == 0 {
			continue
		}
		maps.Copy(values, h.values)
		i.secrets = h.values
		i.Secrets = slices.Sorted(maps.Keys(h.values))
		var err error
		if i.Entry, err = withOthers(e, i.plain); err != nil {
			return err
		}
	}
	return nil
}

// withOthers encodes e together with those keys of plain that ownEntry does not have.
func withOthers(e *ownEntry, plain json.RawMessage) (json.RawMessage, error) {
	raw, err := encode(e)
	if err != nil {
		return nil, err
	}
	others, err := decodeObject(plain)
	if err != nil || !hasOthers(others) {
		return raw, err
	}
	ours, err := decodeObject(raw)
	if err != nil {
		return nil, err
	}
	maps.Copy(others, ours)
	return encode(others)
}

// ownKeys are the JSON keys of ownEntry.
var ownKeys = []string{"type", "command", "args", "env", "inheritEnv", "cwd", "url", "headers", "startupTimeoutMs", "requestTimeoutMs", "disabled"}

func hasOthers(entry map[string]any) bool {
	for key := range entry {
		if !slices.Contains(ownKeys, key) {
			return true
		}
	}
	return false
}

var secretRef = lazyregexp.New(`\$\{secret:([^}:]+)\}`)

// plainOf returns an entry of our configuration with references to secrets expanded, for
// comparison with the entries of clients. Secrets that cannot be read stay references.
func (c *Connector) plainOf(entry json.RawMessage) json.RawMessage {
	if c.vault == nil {
		return entry
	}
	return json.RawMessage(secretRef().ReplaceAllStringFunc(string(entry), func(ref string) string {
		value, err := c.vault.Get(context.Background(), secretRef().FindStringSubmatch(ref)[1])
		if err != nil {
			return ref
		}
		return inString(value)
	}))
}

// keepSecrets stores the secrets of an import. If a name has another value in the vault, it
// returns a conflict and stores nothing.
func (o *ownChange) keepSecrets(ctx context.Context) error {
	if len(o.values) == 0 {
		return nil
	}
	for name, value := range o.values {
		old, err := o.vault.Get(ctx, name)
		switch {
		case err == nil && old != value:
			return core.Errorf(core.CodeConflict, "the secret %q has another value by now: look at the change again", name)
		case err != nil && core.CodeOf(err) != core.CodeNotFound:
			return err
		}
	}
	return o.vault.SetAll(ctx, o.values)
}

// dropSecrets deletes those of the named secrets that our configuration no longer refers to.
func (o *ownChange) dropSecrets(ctx context.Context, names []string) error {
	if o.vault == nil || len(names) == 0 {
		return nil
	}
	now, _, err := read(o.Path)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return strings.Contains(string(now), "${secret:"+name+"}") || strings.Contains(string(now), "${secret:"+name+":-")
	})
	_, err = o.vault.Remove(ctx, names...)
	return err
}
