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
	secretValue      = lazyregexp.New(`^(dbr_|gh[pousr]_|github_pat_|sk-|xox[abeprs]-|glpat-|AKIA|AIza|eyJ[A-Za-z0-9_-]+\.|npm_|pypi-|hf_|SG\.|shp(at|ss)_|-----BEGIN )`)
	schemePrefix     = lazyregexp.New(`(?i)^((?:bearer|basic|token|apikey)\s+)(\S.*)$`)
	invalidNameChars = lazyregexp.New(`[^A-Za-z0-9._-]+`)
	namedValue       = lazyregexp.New(`^([A-Za-z][A-Za-z0-9_.-]*)(=|:\s*)(\S.*)$`)
	optionPattern    = lazyregexp.New(`^--?([A-Za-z][A-Za-z0-9_-]*)(=(.*))?$`)
	harmlessValue    = lazyregexp.New(`(?i)^(true|false|yes|no|none|null|\d{1,4}|/.*|[a-z]:\\.*|~/.*)$`)
)

// secretExtractor replaces the literal secrets of one server by references to a vault.
type secretExtractor struct {
	label         string
	nameTaken     func(name, value string) bool // the name is in use for another value
	values        map[string]string
	containsKnown func(value string) bool // value contains a secret that is stored elsewhere; may be nil
	replaced      int                     // number of replacements
	maskOnly      bool                    // replace secrets by *** and store nothing
}

// isSecret reports whether the value of key must not be written to a file. A value that
// refers to a variable is not a secret.
func isSecret(key, value string) bool {
	if value == "" || strings.Contains(value, "${") {
		return false
	}
	_, bare := splitScheme(value)
	return secretValue().MatchString(bare) || secretName().MatchString(key) && len(value) >= 4 && !harmlessValue().MatchString(value) || hasPassword(value)
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

// splitScheme splits off an authentication scheme such as "Bearer ".
func splitScheme(value string) (prefix, rest string) {
	if m := schemePrefix().FindStringSubmatch(value); m != nil {
		return m[1], m[2]
	}
	return "", value
}

// replaceSecret stores value under a name derived from key, and returns the reference to it.
func (h *secretExtractor) replaceSecret(key, value string) string {
	if h.maskOnly {
		h.replaced++
		return "***"
	}
	prefix, bare := splitScheme(value)
	base := strings.Trim(invalidNameChars().ReplaceAllString(h.label+"."+key, "-"), ".-_")
	name := base
	for n := 2; h.nameTaken(name, bare) || h.values[name] != "" && h.values[name] != bare; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	h.values[name] = bare
	h.replaced++
	return prefix + "${secret:" + name + "}"
}

func (h *secretExtractor) extractMap(m map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		m[key] = h.extractValue(key, m[key])
	}
}

// extractValue replaces the value of a key, or its secret parts.
func (h *secretExtractor) extractValue(key, value string) string {
	if isSecret(key, value) || h.isKnown(value) {
		return h.replaceSecret(cmp.Or(key, "value"), value)
	}
	return h.extractParts(value)
}

func (h *secretExtractor) isKnown(value string) bool {
	return h.containsKnown != nil && h.containsKnown(value)
}

// extractParts replaces the secret parts of a value: NAME=VALUE, a header, parameters of a URL, or
// values within JSON text.
func (h *secretExtractor) extractParts(value string) string {
	if m := namedValue().FindStringSubmatch(value); m != nil && isSecret(m[1], m[3]) {
		return m[1] + m[2] + h.replaceSecret(m[1], m[3])
	}
	if strings.Contains(value, "://") {
		return h.extractURL(value)
	}
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		return h.extractJSON(value)
	}
	return value
}

// extractJSON replaces the secrets in JSON text. It preserves the formatting where possible.
func (h *secretExtractor) extractJSON(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil || d.More() {
		return text
	}
	out, before := text, h.replaced
	plain := h.extractDecoded("", value, func(old, now string) { out = strings.ReplaceAll(out, encodeText(old), encodeText(now)) })
	if h.replaced == before {
		return text
	}
	var left any
	if json.Unmarshal([]byte(out), &left) == nil && encodeText(left) == encodeText(plain) {
		return out
	}
	return encodeText(plain) // the text uses other escapes
}

func encodeText(v any) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return strings.TrimSuffix(out.String(), "\n")
}

// extractArgs replaces the values of --token=VALUE and --token VALUE, secrets recognized by their
// form, and secret parts of other arguments.
func (h *secretExtractor) extractArgs(args []string) {
	option := ""
	for i, a := range args {
		m := optionPattern().FindStringSubmatch(a)
		switch {
		case m != nil && m[2] != "":
			args[i] = a[:len(a)-len(m[3])] + h.extractValue(m[1], m[3])
		case m == nil && isSecret(cmp.Or(option, "arg"), a):
			args[i] = h.replaceSecret(cmp.Or(option, "argument"), a)
		case m == nil && h.isKnown(a):
			args[i] = h.replaceSecret("argument", a)
		case m == nil:
			args[i] = h.extractParts(a)
		}
		if option = ""; m != nil && m[2] == "" {
			option = m[1]
		}
	}
}

// extractURL replaces the password and the secret parameters of a URL. The rest stays readable.
func (h *secretExtractor) extractURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || strings.Contains(s, "${") {
		return s
	}
	if password, ok := u.User.Password(); ok && password != "" {
		_, rest, _ := strings.Cut(s, "://")
		if user, _, ok := strings.Cut(rest, "@"); ok {
			name, written, _ := strings.Cut(user, ":")
			s = strings.Replace(s, user+"@", name+":"+h.replaceSecret("password", written)+"@", 1)
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
			parts[i] = key + "=" + h.replaceSecret(key, value)
		}
	}
	s = path + "?" + strings.Join(parts, "&")
	if hasFragment {
		s += "#" + fragment
	}
	return s
}

// extractSecrets replaces the literal secrets of every new server by references. The values stay in the
// import until it is applied.
func (c *Connector) extractSecrets(all []ImportedServer) error {
	if c.vault == nil {
		return nil
	}
	values := map[string]string{} // shared, because two servers may have the same label
	for n := range all {
		i := &all[n]
		if i.SkipReason != "" || i.Exists {
			continue
		}
		e := &configEntry{}
		if err := json.Unmarshal(i.literal, e); err != nil {
			return err
		}
		h := &secretExtractor{label: i.Label, values: map[string]string{}, nameTaken: func(name, value string) bool {
			if other, ok := values[name]; ok {
				return other != value
			}
			old, err := c.vault.Get(context.Background(), name)
			return err == nil && old != value
		}}
		for _, key := range i.secretKeys {
			for _, table := range []map[string]string{e.Env, e.Headers} {
				if value, ok := table[key]; ok {
					table[key] = h.replaceSecret(key, value)
				}
			}
		}
		h.extractMap(e.Env)
		h.extractMap(e.Headers)
		before := len(h.values)
		h.extractArgs(e.Args)
		if len(h.values) > before {
			i.Notes = append(i.Notes, "A secret among its arguments can be read by other programs while it runs, as before")
		}
		e.URL = h.extractURL(e.URL)
		if len(h.values) == 0 {
			continue
		}
		maps.Copy(values, h.values)
		i.secretValues = h.values
		i.SecretNames = slices.Sorted(maps.Keys(h.values))
		var err error
		if i.Entry, err = mergeUnknownKeys(e, i.literal); err != nil {
			return err
		}
	}
	return nil
}

// mergeUnknownKeys encodes e together with those keys of plain that configEntry does not have.
func mergeUnknownKeys(e *configEntry, plain json.RawMessage) (json.RawMessage, error) {
	raw, err := encodeJSON(e)
	if err != nil {
		return nil, err
	}
	others, err := decodeObject(plain)
	if err != nil || !hasUnknownKeys(others) {
		return raw, err
	}
	ours, err := decodeObject(raw)
	if err != nil {
		return nil, err
	}
	maps.Copy(others, ours)
	return encodeJSON(others)
}

// configEntryKeys are the JSON keys of configEntry.
var configEntryKeys = []string{"type", "command", "args", "env", "inheritEnv", "cwd", "url", "headers", "startupTimeoutMs", "requestTimeoutMs", "disabled"}

func hasUnknownKeys(entry map[string]any) bool {
	for key := range entry {
		if !slices.Contains(configEntryKeys, key) {
			return true
		}
	}
	return false
}

var secretRef = lazyregexp.New(`\$\{secret:([^}:]+)\}`)

// expandSecrets returns an entry of our configuration with references to secrets expanded, for
// comparison with the entries of clients. Secrets that cannot be read stay references.
func (c *Connector) expandSecrets(entry json.RawMessage) json.RawMessage {
	if c.vault == nil {
		return entry
	}
	return json.RawMessage(secretRef().ReplaceAllStringFunc(string(entry), func(ref string) string {
		value, err := c.vault.Get(context.Background(), secretRef().FindStringSubmatch(ref)[1])
		if err != nil {
			return ref
		}
		return jsonStringContent(value)
	}))
}

// storeSecrets stores the secrets of an import. If a name has another value in the vault, it
// returns a conflict and stores nothing.
func (o *configChange) storeSecrets(ctx context.Context) error {
	if len(o.secretValues) == 0 {
		return nil
	}
	for name, value := range o.secretValues {
		old, err := o.vault.Get(ctx, name)
		switch {
		case err == nil && old != value:
			return core.Errorf(core.CodeConflict, "the secret %q has another value by now: look at the change again", name)
		case err != nil && core.CodeOf(err) != core.CodeNotFound:
			return err
		}
	}
	return o.vault.SetAll(ctx, o.secretValues)
}

// deleteSecrets deletes those of the named secrets that our configuration no longer refers to.
func (o *configChange) deleteSecrets(ctx context.Context, names []string) error {
	if o.vault == nil || len(names) == 0 {
		return nil
	}
	now, _, err := readFile(o.Path)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return strings.Contains(string(now), "${secret:"+name+"}") || strings.Contains(string(now), "${secret:"+name+":-")
	})
	_, err = o.vault.Remove(ctx, names...)
	return err
}
