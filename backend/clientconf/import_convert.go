package clientconf

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// configEntry is a server in the format of our configuration. The fields are in the order in
// which they are written.
type configEntry struct {
	Type             string               `json:"type,omitempty"`
	Command          string               `json:"command,omitempty"`
	Args             []string             `json:"args,omitempty"`
	Env              map[string]string    `json:"env,omitempty"`
	InheritEnv       []string             `json:"inheritEnv,omitempty"`
	Cwd              string               `json:"cwd,omitempty"`
	URL              string               `json:"url,omitempty"`
	Headers          map[string]string    `json:"headers,omitempty"`
	OAuth            map[string]any       `json:"oauth,omitempty"`
	IncludeTools     []string             `json:"includeTools,omitempty"`
	ExcludeTools     []string             `json:"excludeTools,omitempty"`
	Tools            map[string]toolEntry `json:"tools,omitempty"`
	Approval         string               `json:"approval,omitempty"`
	StartupTimeoutMs int64                `json:"startupTimeoutMs,omitempty"`
	RequestTimeoutMs int64                `json:"requestTimeoutMs,omitempty"`
	Disabled         bool                 `json:"disabled,omitempty"`
}

// toolEntry holds the settings of one tool in the format of our configuration.
type toolEntry struct {
	Approval string `json:"approval,omitempty"`
}

// entryConverter converts one entry of a client into one of our configuration.
type entryConverter struct {
	client       Client
	dir          string // the project directory, or ""
	home         string // the home directory, or "" if no file may be read
	inputs       map[string]promptedInput
	notes        []string
	needsCommand bool // it contains a value that only a command could compute
	name         string
	chosen       bool           // the user named the file
	beside       map[string]any // the object that contains the servers
	off          bool           // the client has it switched off, outside of the entry
	rules        []toolRules    // about its tools, outside of the entry
	disabled     bool           // it has a limit or a protection that cannot be converted
}

type promptedInput struct {
	password     bool
	defaultValue string // the default if nothing is entered
}

// promptedInputs reads the inputs next to the container at path, by id.
func promptedInputs(m map[string]any, path []string) map[string]promptedInput {
	parent, _ := valueAt(m, path[:max(0, len(path)-1)]).(map[string]any)
	all := map[string]promptedInput{}
	list, _ := parent["inputs"].([]any)
	for _, one := range list {
		object, _ := one.(map[string]any)
		id, _ := object["id"].(string)
		password, _ := object["password"].(bool)
		standard, _ := object["default"].(string)
		all[id] = promptedInput{password, standard}
	}
	return all
}

// convertInput returns a reference that replaces a value for which the client prompts.
func (b *entryConverter) convertInput(id string) string {
	asked := b.inputs[id]
	ref := config.InputReference(id, asked.password, asked.defaultValue)
	variable, _, hasDefault := strings.Cut(strings.Trim(ref, "${}"), ":-")
	switch name, isSecret := strings.CutPrefix(variable, "secret:"); {
	case isSecret:
		b.addNote("%s prompts for %q: store the value with drawbridge secret set %s", b.client.Name, id, name)
	case hasDefault:
		b.addNote("%s prompts for %q: its value is %q unless the variable %s is set", b.client.Name, id, asked.defaultValue, variable)
	default:
		b.addNote("%s prompts for %q: set the variable %s instead", b.client.Name, id, variable)
	}
	return ref
}

func (b *entryConverter) addNote(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(b.notes, s) {
		b.notes = append(b.notes, s)
	}
}

// The keys in which clients store the program and the URL of a server.
var (
	commandKeys = []string{"command", "cmd"}
	addressKeys = []string{"httpUrl", "url", "serverUrl", "uri", "baseUrl"}
)

func (b *entryConverter) convert(value any) (*configEntry, error) {
	m, ok := value.(map[string]any)
	if !ok {
		return nil, errNoObject
	}
	if nested, ok := m["transport"].(map[string]any); ok { // newer format of Cline
		m = maps.Clone(m)
		maps.Copy(m, nested)
	}
	if nested, ok := m["command"].(map[string]any); ok && nested["path"] != nil { // earlier format of Zed
		m = maps.Clone(m)
		maps.Copy(m, nested)
		m["command"] = nested["path"]
		delete(m, "path")
	}
	e := &configEntry{}
	words, isText := textList(firstMember(m, commandKeys...))
	args, argsAreText := textList(m["args"])
	address := strings.TrimSpace(firstString(m, addressKeys...))
	kind := strings.ToLower(firstString(m, "type", "transport", "transportType"))
	if len(words) == 1 {
		words = config.SplitCommand(words[0])
	}
	switch isProgram := len(words) > 0 && words[0] != ""; {
	case !isKnownKind(kind):
		if len(kind) > 10 || strings.ContainsFunc(kind, func(r rune) bool { return r < 'a' || r > 'z' }) { // not a word, so maybe a secret
			return nil, errors.New("its type is not supported")
		}
		return nil, fmt.Errorf("its type %q is not supported", kind)
	case !isText:
		return nil, fmt.Errorf("its %q is not text", firstKey(m, commandKeys))
	case isProgram && !argsAreText:
		return nil, errors.New(`its "args" contains a value that is not text`)
	case isProgram:
		b.convertProgram(e, m, append(words, args...))
	case address != "":
		b.convertURL(e, m, address, kind)
	default:
		if key := firstKey(m, addressKeys); key != "" {
			return nil, fmt.Errorf("its %q is not text", key)
		}
		return nil, errNoServer
	}
	b.convertSwitches(e, m)
	b.limitToAgent(e, b.name, b.beside)
	if b.needsCommand {
		b.disabled = true
		b.addNote("One of its values comes from a command, and Drawbridge never runs such commands. Provide the value as a variable, then enable the server.")
	}
	e.Disabled = e.Disabled || b.disabled || b.off
	return e, nil
}

// isKnownKind reports whether kind is a transport that servers of other programs can have.
func isKnownKind(kind string) bool {
	t, known := config.TransportOf(kind)
	return kind == "" || known && t != core.Docker && t != core.Replay
}

// firstKey returns the first of the keys that m has with a value that is not an empty text; "" if
// none.
func firstKey(m map[string]any, keys []string) string {
	for _, key := range keys {
		if v := m[key]; v != nil && v != "" {
			return key
		}
	}
	return ""
}

func (b *entryConverter) convertProgram(e *configEntry, m map[string]any, words []string) {
	e.Command = b.convertText(words[0])
	for _, w := range words[1:] {
		e.Args = append(e.Args, b.convertText(w))
	}
	for _, key := range []string{"environment", "envs", "env"} {
		if v := b.convertMap(key, m[key], &e.InheritEnv); len(v) > 0 && e.Env == nil {
			e.Env = v
		} else {
			maps.Copy(e.Env, v)
		}
	}
	e.InheritEnv = append(e.InheritEnv, append(stringList(m["env_vars"]), stringList(m["inheritEnv"])...)...)
	if keys := stringList(m["env_keys"]); len(keys) > 0 {
		e.InheritEnv = append(e.InheritEnv, keys...)
		same := "the same variable"
		if len(keys) > 1 {
			same += "s"
		}
		b.addNote("%s keeps %s in its keyring: set %s in Drawbridge's environment", b.client.Name, strings.Join(keys, ", "), same)
	}
	e.Cwd = b.convertText(firstString(m, "cwd", "workingDirectory", "working_directory", "working_dir"))
	if address, err := url.Parse(e.Cwd); err == nil && address.Scheme == "file" {
		if e.Cwd = address.Path; len(e.Cwd) > 2 && e.Cwd[2] == ':' { // /C:/folder
			e.Cwd = e.Cwd[1:]
		}
		if address.Host != "" && address.Host != "localhost" {
			e.Cwd = "//" + address.Host + address.Path
		}
	}
	switch {
	case e.Cwd == "" && b.dir != "":
		e.Cwd = b.dir
		b.addNote("It runs in %s, as it did for the client", b.dir)
	case e.Cwd != "" && b.dir != "" && !filepath.IsAbs(e.Cwd) && !strings.HasPrefix(e.Cwd, "$") && !strings.HasPrefix(e.Cwd, "~"):
		e.Cwd = filepath.Join(b.dir, e.Cwd)
	}
}

func (b *entryConverter) convertURL(e *configEntry, m map[string]any, address, kind string) {
	e.URL, e.Type = b.convertText(address), "http"
	switch {
	case strings.Contains(kind, "sse"),
		b.client.ID == "qwen-code" && m["httpUrl"] == nil,
		kind == "" && slices.Contains([]string{"cline", "roo-code", "anythingllm"}, b.client.ID):
		e.Type = "sse"
	}
	add := func(header, value string) {
		if e.Headers == nil {
			e.Headers = map[string]string{}
		}
		e.Headers[header] = value
	}
	auth, _ := m["auth"].(map[string]any)
	for _, key := range []string{"requestOptions", "requestInit", "eventSourceInit"} {
		if inner, ok := m[key].(map[string]any); ok {
			for header, value := range b.convertMap(key+".headers", inner["headers"], nil) {
				add(header, value)
			}
		}
	}
	for _, v := range []any{auth["headers"], m["http_headers"], m["headers"]} {
		for header, value := range b.convertMap("headers", v, nil) {
			add(header, value)
		}
	}
	if name := firstString(m, "bearer_token_env_var", "bearerTokenEnvVar", "bearer_token_env"); name != "" {
		add("Authorization", "Bearer ${"+name+"}")
	}
	if token := firstString(m, "apiKey"); token != "" {
		add("Authorization", "Bearer "+b.convertText(token))
	}
	for _, settings := range []map[string]any{m, auth} {
		if name := firstString(settings, "api_key_env"); name != "" {
			format := cmp.Or(firstString(settings, "api_key_format"), "Bearer {token}")
			add(cmp.Or(firstString(settings, "api_key_header"), "Authorization"), strings.ReplaceAll(format, "{token}", "${"+name+"}"))
		}
	}
	named, _ := m["env_http_headers"].(map[string]any)
	for header, name := range named {
		if name, ok := name.(string); ok {
			add(header, "${"+name+"}")
		}
	}
	if len(e.Headers) == 0 {
		b.addNote("If the client was signed in to it, sign in again")
	}
}

// convertMap converts the variables or headers of key: an object, or a list of NAME=VALUE. A variable
// without a value is added to inherit.
func (b *entryConverter) convertMap(key string, v any, inherit *[]string) map[string]string {
	m, isObject := v.(map[string]any)
	list, isList := v.([]any)
	if v != nil && !isObject && !isList {
		b.addNote("%q is neither an object nor a list and is not copied", key)
	}
	out := map[string]string{}
	for name, value := range m {
		switch value := value.(type) {
		case string:
			out[name] = b.convertText(value)
		case json.Number, bool:
			out[name] = fmt.Sprint(value)
		default:
			b.addNote("%q is not text and is not copied", name)
		}
	}
	for at, item := range list {
		text, _ := item.(string)
		name, value, hasValue := strings.Cut(text, "=")
		switch {
		case name == "" || !hasValue && inherit == nil:
			b.addNote("Item %d of %q is not NAME=VALUE and is not copied", at+1, key)
		case hasValue:
			out[name] = b.convertText(value)
		default:
			*inherit = append(*inherit, name)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

var (
	bracedReference = osutil.LazyRegexp(`\$\{\{?[^{}]*\}?\}|\{(?:env|file):[^{}]*\}`)
	nestedReference = osutil.LazyRegexp(`\$\{(?:config|command|input|workspaceFolder):[^{}]*\$\{`)
	dollarReference = osutil.LazyRegexp(`\$([A-Za-z_][A-Za-z0-9_]*)`)
	variableExpr    = osutil.LazyRegexp(`^[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?$`)
)

// convertText converts the references in a string to our syntax. What the client would take
// literally stays literal, and nothing is evaluated.
func (b *entryConverter) convertText(s string) string {
	if strings.Contains(s, "$(") || strings.Contains(s, "`") && b.client.ID == "crush" {
		b.needsCommand = true
	}
	has := func(form string) bool { return slices.Contains(b.client.VariableForms, form) }
	var out strings.Builder
	plain := func(s string) {
		if has("$") {
			s = b.convertDollars(s)
		}
		out.WriteString(s)
	}
	if has("${env:}") && nestedReference().MatchString(s) {
		b.cannotCompute(nestedReference().FindString(s) + "…")
	}
	last := 0
	for _, at := range bracedReference().FindAllStringIndex(s, -1) {
		plain(s[last:at[0]])
		out.WriteString(b.convertReference(s[at[0]:at[1]], has))
		last = at[1]
	}
	plain(s[last:])
	return out.String()
}

// convertDollars converts $NAME. Within a word it is more likely a part of a password: a client that does not
// know the name keeps it, too. Our syntax would read $${ as text.
func (b *entryConverter) convertDollars(s string) string {
	var out strings.Builder
	last := 0
	for _, at := range dollarReference().FindAllStringSubmatchIndex(s, -1) {
		out.WriteString(s[last:at[0]])
		if name := s[at[2]:at[3]]; at[0] > last && (s[at[0]-1] == '$' || isWordByte(s[at[0]-1])) {
			b.addNote("A $ within a word is copied as text. If a variable is meant, write ${NAME}")
			out.WriteString("$" + name)
		} else {
			out.WriteString("${" + name + "}")
		}
		last = at[1]
	}
	return out.String() + s[last:]
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// convertReference converts one ${…} or {…}.
func (b *entryConverter) convertReference(ref string, has func(string) bool) string {
	inner := strings.TrimSpace(strings.Trim(strings.TrimPrefix(ref, "$"), "{}"))
	kind, name, _ := strings.Cut(inner, ":")
	name = strings.TrimSpace(name)
	braces := strings.HasPrefix(ref, "$")
	switch {
	case braces && kind == "cmd":
		b.needsCommand = true
		return "$" + ref
	case !braces && kind == "env" && has("{env:}"), braces && kind == "env" && (has("${env:}") || has("${}")):
		return "${" + name + "}"
	case !braces && kind == "file" && has("{env:}"):
		b.addNote("%s reads the file %s: provide its content as a variable", b.client.Name, name)
		b.needsCommand = true
		return ref
	case !braces:
		return ref
	case braces && kind == "secret" && b.isOwnExport():
		b.addNote("It uses the secret %q of Drawbridge", name)
		return ref
	case kind == askedSecret():
		return "${secret:" + name + "}"
	case kind == "input" && has("${input:}"):
		return b.convertInput(name)
	case strings.HasPrefix(inner, "secrets."):
		return "${" + strings.TrimPrefix(inner, "secrets.") + "}"
	case inner == "workspaceFolder":
		if b.dir != "" {
			return b.dir
		}
		b.addNote("It depends on the folder that is open in %s", b.client.Name)
		return "${workspaceFolder}"
	case inner == "userHome":
		return "${HOME}"
	case has("${env:}"):
		if value, ok := b.editorVariable(inner); ok {
			return value
		}
	}
	switch {
	case has("${env:}") && slices.Contains(editorKinds, kind):
		b.cannotCompute(ref)
		return "$" + ref
	case has("${}") && (variableExpr().MatchString(inner) || kind == "secret" && b.client.isPasted()):
		return ref
	}
	if has("${env:}") && !has("${}") {
		b.cannotCompute(ref)
	}
	return "$" + ref // literal for the client, so literal for us
}

// isOwnExport reports whether the entry may be one that the export printed: what came with a project or a
// plugin, or what a gateway wrote, cannot ask for our secrets.
func (b *entryConverter) isOwnExport() bool {
	return !b.client.isPasted() && b.dir == "" && (!b.client.isSource() || b.client.Gateway != nil && b.chosen)
}

// editorKinds are the kinds of variables that only an editor can compute. In a file of an editor, any
// other that we do not know is one as well, and not literal text.
var editorKinds = []string{"workspaceFolder", "workspaceFolderBasename", "config", "command"}

func (b *entryConverter) cannotCompute(ref string) {
	b.disabled = true
	b.addNote("The value of %s is known only to %s: replace it, then enable the server", core.Shorten(ref, 60), cmp.Or(b.client.Name, "the editor"))
}

// editorVariable returns the value of a variable of VS Code and its relatives, if it is known.
func (b *entryConverter) editorVariable(inner string) (value string, ok bool) {
	name, isNamed := strings.CutPrefix(inner, "workspaceFolder:")
	switch {
	case inner == "/", inner == "pathSeparator":
		return string(filepath.Separator), true
	case b.dir == "":
		return "", false
	case inner == "workspaceFolderBasename":
		return filepath.Base(b.dir), true
	}
	return b.dir, isNamed && name == filepath.Base(b.dir)
}

// directStarts says what the servers that npx starts will save, or returns "".
func directStarts(servers []ImportedServer) string {
	n := 0
	for _, s := range servers {
		var entry struct{ Command string }
		if json.Unmarshal(s.Entry, &entry) == nil && strings.TrimSuffix(filepath.Base(entry.Command), ".cmd") == "npx" {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return core.Plural(n, "server") + " with npx: from the second start on, Drawbridge starts the program itself, which takes less than half the time and about 50 MB less memory for each."
}
