package clientconf

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// ownEntry is a server in the format of our configuration. The fields are in the order in
// which they are written.
type ownEntry struct {
	Type             string            `json:"type,omitempty"`
	Command          string            `json:"command,omitempty"`
	Args             []string          `json:"args,omitempty"`
	Env              map[string]string `json:"env,omitempty"`
	InheritEnv       []string          `json:"inheritEnv,omitempty"`
	Cwd              string            `json:"cwd,omitempty"`
	URL              string            `json:"url,omitempty"`
	Headers          map[string]string `json:"headers,omitempty"`
	StartupTimeoutMs int64             `json:"startupTimeoutMs,omitempty"`
	RequestTimeoutMs int64             `json:"requestTimeoutMs,omitempty"`
	Disabled         bool              `json:"disabled,omitempty"`
}

// becoming converts one entry of a client into one of our configuration.
type becoming struct {
	client Client
	dir    string // the project directory, or ""
	inputs map[string]promptedInput
	notes  []string
	unsafe bool // it contains a value that only a command could compute
}

// promptedInput is a value that VS Code prompts for.
type promptedInput struct {
	password bool
	standard string // the default if nothing is entered
}

// inputsIn reads the inputs next to the container at path, by id.
func inputsIn(m map[string]any, path []string) map[string]promptedInput {
	for _, key := range path[:max(0, len(path)-1)] {
		m, _ = m[key].(map[string]any)
	}
	all := map[string]promptedInput{}
	list, _ := m["inputs"].([]any)
	for _, one := range list {
		object, _ := one.(map[string]any)
		id, _ := object["id"].(string)
		password, _ := object["password"].(bool)
		standard, _ := object["default"].(string)
		all[id] = promptedInput{password, standard}
	}
	return all
}

// input returns a reference that replaces a value for which the client prompts.
func (b *becoming) input(id string) string {
	name := strings.Trim(notName().ReplaceAllString(id, "_"), "_")
	variable := strings.ToUpper(name)
	asked := b.inputs[id]
	switch {
	case asked.password && name != "":
		b.note("%s asks for %q: store it with drawbridge secret set %s", b.client.Name, id, name)
		return "${secret:" + name + "}"
	case asked.standard != "" && !strings.ContainsAny(asked.standard, "${}"):
		b.note("%s asks for %q: it is %q unless the variable %s is set", b.client.Name, id, asked.standard, variable)
		return "${" + variable + ":-" + asked.standard + "}"
	}
	b.note("%s asks for %q: set the variable %s", b.client.Name, id, variable)
	return "${" + variable + "}"
}

func (b *becoming) note(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(b.notes, s) {
		b.notes = append(b.notes, s)
	}
}

func (b *becoming) from(value any) (*ownEntry, error) {
	m, ok := value.(map[string]any)
	if !ok {
		return nil, errNoServer
	}
	if nested, ok := m["transport"].(map[string]any); ok { // newer format of Cline
		m = maps.Clone(m)
		maps.Copy(m, nested)
	}
	e := &ownEntry{}
	words := append(texts(firstOf(m, "command", "cmd")), texts(m["args"])...)
	address := firstText(m, "httpUrl", "url", "serverUrl", "uri", "baseUrl")
	switch {
	case len(words) > 0 && words[0] != "":
		b.program(e, m, words)
	case address != "":
		b.address(e, m, address)
	default:
		return nil, errNoServer
	}
	b.times(e, m)
	b.switches(e, m)
	for _, key := range []string{"headersHelper", "http_headers_helper", "envFile", "oauth", "sandbox", "auth_provider"} {
		if v := m[key]; v != nil && v != false {
			b.note("%q is not taken over", key)
			b.unsafe = b.unsafe || strings.Contains(strings.ToLower(key), "helper")
		}
	}
	if b.unsafe {
		e.Disabled = true
		b.note("A command makes one of its values. It is never run; give the value as a variable and enable the server.")
	}
	return e, nil
}

func (b *becoming) program(e *ownEntry, m map[string]any, words []string) {
	e.Command = b.text(words[0])
	for _, w := range words[1:] {
		e.Args = append(e.Args, b.text(w))
	}
	e.Env = b.table(firstOf(m, "env", "envs", "environment"))
	e.InheritEnv = texts(m["env_vars"])
	if keys := texts(m["env_keys"]); len(keys) > 0 {
		e.InheritEnv = append(e.InheritEnv, keys...)
		b.note("%s keeps %s in its keyring: set them in the environment", b.client.Name, strings.Join(keys, ", "))
	}
	e.Cwd = b.text(firstText(m, "cwd", "workingDirectory"))
	switch {
	case e.Cwd == "" && b.dir != "":
		e.Cwd = b.dir
		b.note("It runs in %s, as it did for the client", b.dir)
	case e.Cwd != "" && b.dir != "" && !filepath.IsAbs(e.Cwd) && !strings.HasPrefix(e.Cwd, "$") && !strings.HasPrefix(e.Cwd, "~"):
		e.Cwd = filepath.Join(b.dir, e.Cwd)
	}
}

func (b *becoming) address(e *ownEntry, m map[string]any, address string) {
	e.URL, e.Type = b.text(address), "http"
	kind := strings.ToLower(firstText(m, "type", "transport", "transportType"))
	switch {
	case strings.Contains(kind, "sse"),
		b.client.ID == "qwen-code" && m["httpUrl"] == nil,
		kind == "" && slices.Contains([]string{"cline", "roo-code", "anythingllm"}, b.client.ID):
		e.Type = "sse"
	}
	e.Headers = b.table(firstOf(m, "headers", "http_headers"))
	for _, key := range []string{"requestOptions", "requestInit", "auth"} {
		if inner, ok := m[key].(map[string]any); ok && e.Headers == nil {
			e.Headers = b.table(inner["headers"])
		}
	}
	add := func(header, value string) {
		if e.Headers == nil {
			e.Headers = map[string]string{}
		}
		e.Headers[header] = value
	}
	if name := firstText(m, "bearer_token_env_var", "bearerTokenEnvVar", "api_key_env"); name != "" {
		add("Authorization", "Bearer ${"+name+"}")
	}
	named, _ := m["env_http_headers"].(map[string]any)
	for header, name := range named {
		if name, ok := name.(string); ok {
			add(header, "${"+name+"}")
		}
	}
	if len(e.Headers) == 0 {
		b.note("If the client had logged in to it, log in again")
	}
}

func (b *becoming) times(e *ownEntry, m map[string]any) {
	unit := 1.0
	if b.client.TimeoutUnit == "s" {
		unit = 1000
	}
	e.RequestTimeoutMs = max(millis(m["timeout"], unit), millis(m["tool_timeout_sec"], 1000), millis(m["toolTimeoutMs"], 1))
	e.StartupTimeoutMs = max(millis(m["startup_timeout_sec"], 1000), millis(m["connectionTimeout"], 1))
}

func (b *becoming) switches(e *ownEntry, m map[string]any) {
	off := m["disabled"] == true && b.client.ID != "claude-code" // Claude Code ignores the key
	for _, key := range []string{"enabled", "isActive", "active"} {
		off = off || m[key] == false
	}
	e.Disabled = off
}

func (b *becoming) table(v any) map[string]string {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		return nil
	}
	out := map[string]string{}
	for key, value := range m {
		switch value := value.(type) {
		case string:
			out[key] = b.text(value)
		case json.Number, bool:
			out[key] = fmt.Sprint(value)
		case nil:
		default:
			b.note("%q is not text and is not taken over", key)
		}
	}
	return out
}

var (
	curly    = lazyregexp.New(`\$\{\{?[^{}]*\}?\}|\{(?:env|file):[^{}]*\}`)
	dollar   = lazyregexp.New(`\$([A-Za-z_][A-Za-z0-9_]*)`)
	variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?$`)
	notName  = lazyregexp.New(`[^A-Za-z0-9]+`)
)

// text converts the references in a string to our syntax. What the client would take
// literally stays literal, and nothing is evaluated.
func (b *becoming) text(s string) string {
	if strings.Contains(s, "$(") || strings.Contains(s, "`") && b.client.ID == "crush" {
		b.unsafe = true
	}
	has := func(form string) bool { return slices.Contains(b.client.Vars, form) }
	var out strings.Builder
	plain := func(s string) {
		if has("$") {
			s = dollar().ReplaceAllString(s, "$${$1}")
		}
		out.WriteString(s)
	}
	last := 0
	for _, at := range curly().FindAllStringIndex(s, -1) {
		plain(s[last:at[0]])
		out.WriteString(b.reference(s[at[0]:at[1]], has))
		last = at[1]
	}
	plain(s[last:])
	return out.String()
}

// reference converts one ${…} or {…}.
func (b *becoming) reference(ref string, has func(string) bool) string {
	inner := strings.TrimSpace(strings.Trim(strings.TrimPrefix(ref, "$"), "{}"))
	kind, name, _ := strings.Cut(inner, ":")
	name = strings.TrimSpace(name)
	braces := strings.HasPrefix(ref, "$")
	switch {
	case braces && kind == "cmd":
		b.unsafe = true
		return "$" + ref
	case !braces && kind == "env" && has("{env:}"), braces && kind == "env" && (has("${env:}") || has("${}")):
		return "${" + name + "}"
	case !braces && kind == "file" && has("{env:}"):
		b.note("%s reads the file %s: give its content as a variable", b.client.Name, name)
		b.unsafe = true
		return ref
	case !braces:
		return ref
	case kind == "input" && has("${input:}"):
		return b.input(name)
	case strings.HasPrefix(inner, "secrets."):
		return "${" + strings.TrimPrefix(inner, "secrets.") + "}"
	case strings.HasPrefix(inner, "workspaceFolder"):
		if b.dir != "" {
			return b.dir
		}
		b.note("It depends on the folder that is open in %s", b.client.Name)
		return "${workspaceFolder}"
	case inner == "userHome":
		return "${HOME}"
	case has("${}") && variable().MatchString(inner):
		return ref
	}
	return "$" + ref // literal for the client, so literal for us
}
