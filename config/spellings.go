package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// READMEs show servers in the format of many programs. A server in our file may have any of their
// spellings: it is read as if it were written in ours, with one notice that says how.

// spellings maps keys of other programs to ours. Keys whose meaning depends on the program, such as
// sign-in, are missing: "drawbridge clients import" converts those.
var spellings = map[string]string{
	"serverUrl": "url", "uri": "url", "baseUrl": "url", "cmd": "command", "environment": "env", "envs": "env",
	"workingDirectory": "cwd", "working_directory": "cwd", "http_headers": "headers", "transportType": "type", "env_vars": "inheritEnv", "env_keys": "inheritEnv",
	"disabledTools": "excludeTools", "disabled_tools": "excludeTools", "excludedTools": "excludeTools", "excluded_tools": "excludeTools",
	"isActive": "enabled", "active": "enabled", "enabledTools": "includeTools", "enabled_tools": "includeTools", "allowedTools": "includeTools", "allowed_tools": "includeTools", "available_tools": "includeTools",
	"startup_timeout_ms": "startupTimeoutMs", "connectionTimeout": "startupTimeoutMs", "request_timeout_ms": "requestTimeoutMs", "toolTimeoutMs": "requestTimeoutMs",
}

// inSeconds maps time limits of other programs in seconds to ours in milliseconds.
var inSeconds = map[string]string{"startup_timeout_sec": "startupTimeoutMs", "tool_timeout_sec": "requestTimeoutMs"}

// notRead are keys of other programs that limit a server or give it what it needs, and that are not read,
// with what to write for them. A server with one of them does not run.
var notRead = map[string]string{
	"denyTools": writeTools, "deniedTools": writeTools, "blockedTools": writeTools, "allowTools": writeTools, "toolFilter": writeTools,
	"approval_mode": writeApproval, "approvalMode": writeApproval, "permission_policy": writeApproval, "permission": writeApproval, "disabled": "write 'enabled'",
	"enabledTools": writeTools, "enabled_tools": writeTools, "allowedTools": writeTools, "allowed_tools": writeTools, "available_tools": writeTools,
	"disabledTools": writeTools, "disabled_tools": writeTools, "excludedTools": writeTools, "excluded_tools": writeTools,
	"toolPermissions": "write 'approval' for each tool in 'tools'", "default_tools_approval_mode": writeApproval, "requiresApproval": writeApproval,
	"sandboxEnabled": "write 'sandbox'", "envFile": "write its variables in 'env'",
	"headersHelper": writeHeaders, "http_headers_helper": writeHeaders, "bearer_token": writeHeaders, "apiKey": writeHeaders,
	"bearer_token_env_var": writeHeaders, "bearerTokenEnvVar": writeHeaders, "bearer_token_env": writeHeaders, "env_http_headers": writeHeaders, "api_key_env": writeHeaders,
}

// limitingKeys limit a server or a tool: a server with a key that is nearly one of them does not run.
var limitingKeys = []string{"includeTools", "excludeTools", "tools", "enabled", "disabled", "approval", "sandbox"}

// inOurSpelling returns the key of a server, ours or another program's, that differs from name only in case
// and separators; otherwise name.
func inOurSpelling(name string) string {
	return cmp.Or(knownSpellings()[name], knownSpellings()[fold(name)], name)
}

// knownSpellings maps the keys of servers, and these without case and separators, to the keys.
var knownSpellings = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, f := range serverFields(&entry{}) {
		all[f.name], all[fold(f.name)] = f.name, f.name
	}
	for _, keys := range []map[string]string{spellings, inSeconds, notRead} {
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			all[key], all[fold(key)] = key, cmp.Or(all[fold(key)], key)
		}
	}
	return all
})

const (
	writeTools    = "write the names in 'includeTools' or 'excludeTools'"
	writeApproval = "write 'approval'"
	writeHeaders  = "write 'headers', with a variable or secret for the value, such as {\"Authorization\": \"Bearer ${TOKEN}\"}"
)

// EnabledKeys are the spellings of the key that enables a server.
var EnabledKeys = []string{"enabled", "isActive", "active"}

// LaunchKeys are the spellings of the keys for the program or the URL of a server.
var LaunchKeys = []string{"command", "cmd", "url", "serverUrl", "httpUrl", "uri"}

// MixedServersKeys are the keys at the top of a file that contain servers of other programs beside
// something else.
var MixedServersKeys = []string{"mcp", "extensions"}

// OtherServersKeys are the keys at the top of a file that contain the servers in other programs.
var OtherServersKeys = []string{"context_servers", "mcp_servers", "amp.mcpServers"}

// TransportOf returns the transport that a program calls kind. Case and separators do not matter.
func TransportOf(kind string) (core.Transport, bool) {
	if t, ok := transports[kind]; ok {
		return t, true
	}
	switch word := fold(kind); {
	case word == "stdio", word == "local":
		return core.Stdio, true
	case strings.Contains(word, "sse"):
		return core.SSE, true
	case strings.HasPrefix(word, "http"), strings.HasPrefix(word, "streamable"), word == "remote":
		return core.HTTP, true
	case word == "docker":
		return core.Docker, true
	}
	return "", false
}

// launchers are usual programs, which need not be in the PATH of this process.
var launchers = []string{"npx", "npm", "node", "bun", "bunx", "deno", "pnpx", "pnpm", "yarn", "uv", "uvx", "pipx", "python", "python3", "docker", "podman", "java", "go", "dotnet", "cmd", "sh", "bash"}

// IsLauncher reports whether program is a usual one that runs servers, with or without its folder.
func IsLauncher(program string) bool {
	return slices.Contains(launchers, strings.TrimSuffix(programName(program), ".cmd"))
}

// SplitCommand splits a command that contains its arguments, such as "npx -y pkg". It returns only
// the command if that is a program, if its first word is none, or if it uses the syntax of a shell.
func SplitCommand(command string) []string {
	words := strings.Fields(command)
	if len(words) < 2 || strings.ContainsAny(command, "\"'`|&;<>$") || isProgram(command) || !isProgram(words[0]) && !IsLauncher(words[0]) {
		return []string{command}
	}
	return words
}

// isProgram reports whether name is a file with an absolute path or a program in the PATH.
func isProgram(name string) bool {
	if !filepath.IsAbs(name) && strings.ContainsAny(name, `/\`) {
		return false
	}
	_, err := exec.LookPath(name)
	return err == nil
}

// InputReference returns the reference that replaces a value for which VS Code prompts under id:
// a secret for a password, otherwise a variable with the given default, which may be "".
func InputReference(id string, password bool, standard string) string {
	name := strings.Trim(nonAlphanumeric().ReplaceAllString(id, "_"), "_")
	switch {
	case password && name != "":
		return "${secret:" + name + "}"
	case standard != "" && !strings.ContainsAny(standard, "${}"):
		return "${" + strings.ToUpper(name) + ":-" + standard + "}"
	}
	return "${" + strings.ToUpper(name) + "}"
}

var (
	nonAlphanumeric = osutil.LazyRegexp(`[^A-Za-z0-9]+`)
	inputReference  = osutil.LazyRegexp(`\$?\$\{input:[^{}]+\}`)
)

// input is a value for which VS Code prompts.
type input struct {
	password bool
	standard string
}

// inputsField reads the inputs of VS Code, which lie beside the servers.
func inputsField() field {
	return field{"inputs", func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindList {
			r.reportWrongKind(n, name, "a list")
			return
		}
		if r.inputs == nil {
			r.inputs = map[string]input{}
		}
		for _, item := range n.items {
			var one input
			if password := item.get("password"); password != nil {
				one.password = password.text == "true"
			}
			if standard := item.get("default"); standard != nil && standard.kind == kindString {
				one.standard = standard.text
			}
			if id := item.get("id"); id != nil {
				r.inputs[id.text] = one
			}
		}
	}}
}

// otherContainers moves the servers that lie under the key of another program to containers.
func (r *reader) otherContainers(root *node, containers *[]container) *node {
	rest := *root
	rest.members = nil
	for _, m := range root.members {
		servers := m.value
		switch {
		case m.value.kind != kindObject:
			servers = nil
		case m.name == "mcp": // opencode has servers there, we have settings
			var settings *node
			if servers, settings = m.value.split(isServer); len(servers.members) > 0 {
				m.value = settings
			}
		case m.name == "extensions":
			servers, _ = m.value.split(isServer)
			servers = gooseServers(servers)
		case !slices.Contains(OtherServersKeys, m.name):
			servers = nil
		}
		if servers != nil && len(servers.members) > 0 {
			r.report(m.at, m.name, true, "to tidy it, write 'mcpServers'", "'%s' is the key of another program", m.name)
			*containers = append(*containers, container{m.name, servers})
		}
		if m.name == "mcp" || servers == nil {
			rest.members = append(rest.members, m)
		}
	}
	return &rest
}

// split returns the members of an object whose values are wanted, and the others.
func (n *node) split(wanted func(*node) bool) (in, out *node) {
	in, out = &node{kind: n.kind, at: n.at}, &node{kind: n.kind, at: n.at}
	for _, m := range n.members {
		to := out
		if wanted(m.value) {
			to = in
		}
		to.members = append(to.members, m)
	}
	return in, out
}

// gooseServers returns the extensions of Goose, whose time limit is in seconds, and whose empty list of
// tools allows all.
func gooseServers(n *node) *node {
	out := &node{kind: n.kind, at: n.at}
	for _, server := range n.members {
		one := &node{kind: kindObject, at: server.value.at}
		for _, m := range server.value.members {
			if millis := m.value.thousandfold(); m.name == "timeout" && millis != nil {
				m.value = millis
			}
			if m.name != "available_tools" || len(m.value.items) > 0 {
				one.members = append(one.members, m)
			}
		}
		out.members = append(out.members, member{server.name, server.at, one})
	}
	return out
}

// isEmpty reports whether n is null, false or empty.
func (n *node) isEmpty() bool {
	return n.kind == kindNull || n.kind != kindNumber && len(n.items)+len(n.members) == 0 && (n.text == "" || n.text == "false")
}

// thousandfold returns a number of seconds in milliseconds; nil if n is no number.
func (n *node) thousandfold() *node {
	seconds, err := strconv.ParseFloat(n.text, 64)
	if n.kind != kindNumber || err != nil {
		return nil
	}
	return &node{kind: kindNumber, text: strconv.FormatFloat(math.Round(seconds*1000), 'f', -1, 64), at: n.at}
}

// isServer reports whether n looks like the entry of a server.
func isServer(n *node) bool {
	return slices.ContainsFunc(LaunchKeys, func(key string) bool { return n.get(key) != nil })
}

// foreignKey is a member whose key has another name in our format.
type foreignKey struct {
	member
	ours string
	text string // the change
}

// tidier rewrites one server in our spelling.
type tidier struct {
	inputs  map[string]input
	out     *node
	foreign []foreignKey
	changes []string
	first   member // the first change
}

// tidied returns a server in our spelling and reports all other spellings in one notice.
func (r *reader) tidied(m member) *node {
	t := tidier{inputs: r.inputs, out: &node{kind: kindObject, at: m.value.at}}
	for _, key := range m.value.members {
		t.add(key)
	}
	for _, key := range t.foreign {
		t.rename(key)
	}
	for i := range t.out.members {
		t.spellValue(i)
	}
	t.out.members = slices.DeleteFunc(t.out.members, func(m member) bool { return m.value == nil })
	for i, key := range t.out.members {
		t.out.members[i].value = t.convertInputs(key, key.value)
	}
	if len(t.changes) == 0 {
		return m.value
	}
	r.report(t.first.at, t.first.name, true, "to tidy it, "+strings.Join(t.changes, "; "), "server '%s' is written as for another program", m.name)
	return t.out
}

func (t *tidier) change(m member, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(t.changes, text) {
		t.changes = append(t.changes, text)
	}
	if t.first.value == nil {
		t.first = m
	}
}

func (t *tidier) add(m member) {
	written := m.name
	m.name = inOurSpelling(m.name)
	switch ours := spellings[m.name]; {
	case m.value.kind == kindNull:
		t.change(m, "leave out '%s'", m.name)
	case m.name == "transport" && m.value.kind == kindObject, m.name == "command" && m.value.get("path") != nil:
		t.change(m, "write the keys of '%s' beside it", m.name)
		for _, inner := range m.value.members {
			if inner.name == "path" {
				inner.name = "command"
			}
			t.add(inner)
		}
	case slices.Contains([]string{"requestInit", "eventSourceInit", "requestOptions"}, m.name) && len(m.value.members) == 1 && m.value.get("headers") != nil:
		t.foreign = append(t.foreign, foreignKey{member{m.name, m.at, m.value.get("headers")}, "headers", fmt.Sprintf("write 'headers' for '%s.headers'", m.name)})
	case ours == "includeTools" && m.value.kind == kindList && len(m.value.items) == 0:
		none := &node{kind: kindList, at: m.value.at, items: []*node{{kind: kindString, text: "*", at: m.value.at}}}
		t.foreign = append(t.foreign, foreignKey{member{m.name, m.at, none}, "excludeTools", fmt.Sprintf("write 'excludeTools': [\"*\"] for the empty '%s'", m.name)})
	case inSeconds[m.name] != "" && m.value.thousandfold() != nil:
		t.foreign = append(t.foreign, foreignKey{member{m.name, m.at, m.value.thousandfold()}, inSeconds[m.name], fmt.Sprintf("write '%s', in milliseconds, for '%s'", inSeconds[m.name], m.name)})
	case headersFor(m) != nil:
		t.foreign = append(t.foreign, foreignKey{member{m.name, m.at, headersFor(m)}, "headers", fmt.Sprintf("write 'headers' with a variable for '%s'", m.name)})
	case ours == "includeTools" && !isList(m.value): // a list that we cannot express remains unknown
		t.out.members = append(t.out.members, m)
	case ours != "", m.name != written && notRead[m.name] == "":
		t.foreign = append(t.foreign, foreignKey{m, cmp.Or(ours, m.name), fmt.Sprintf("write '%s' for '%s'", cmp.Or(ours, m.name), written)})
	default:
		if m.name != written {
			t.change(m, "write '%s' for '%s'", m.name, written)
		}
		t.out.members = append(t.out.members, m)
	}
}

// headersFor returns the headers that a key of another program stands for; nil if it is none, or has
// another value.
func headersFor(m member) *node {
	headers := &node{kind: kindObject, at: m.value.at}
	add := func(name, format string, value *node) {
		if value.kind == kindString && value.text != "" {
			headers.members = append(headers.members, member{name, value.at, &node{kind: kindString, text: fmt.Sprintf(format, value.text), at: value.at}})
		}
	}
	switch m.name {
	case "bearer_token_env_var", "bearerTokenEnvVar", "bearer_token_env":
		add("Authorization", "Bearer ${%s}", m.value)
	case "apiKey":
		add("Authorization", "Bearer %s", m.value)
	case "env_http_headers":
		for _, one := range m.value.members {
			add(one.name, "${%s}", one.value)
		}
	}
	if len(headers.members) == 0 || m.value.kind == kindObject && len(headers.members) < len(m.value.members) {
		return nil
	}
	return headers
}

// rename adds a key under our name. What the entry has under that name wins; objects and lists are
// joined.
func (t *tidier) rename(key foreignKey) {
	i := slices.IndexFunc(t.out.members, func(m member) bool { return m.name == key.ours })
	if i < 0 {
		t.change(key.member, "%s", key.text)
		t.out.members = append(t.out.members, member{key.ours, key.at, key.value})
		return
	}
	joined := *t.out.members[i].value
	switch {
	case joined.kind == key.value.kind && key.ours == "enabled":
		if joined.text == "true" {
			joined.text = key.value.text
		}
	case key.ours == "enabled", key.name == key.ours: // the last one must not win
		t.change(key.member, "remove '%s'", key.name)
		t.out.members = append(t.out.members, member{key.ours, key.at, key.value})
		return
	case joined.kind != key.value.kind, joined.kind != kindObject && key.ours != "excludeTools" && key.ours != "inheritEnv":
		t.out.members = append(t.out.members, key.member) // unknown
		return
	case joined.kind == kindList:
		joined.items = slices.Concat(joined.items, key.value.items)
	default:
		joined.members = slices.Clone(joined.members)
		for _, m := range key.value.members {
			if !slices.ContainsFunc(joined.members, func(own member) bool { return strings.EqualFold(own.name, m.name) }) {
				joined.members = append(joined.members, m)
			}
		}
	}
	t.change(key.member, "%s", key.text)
	t.out.members[i].value = &joined
}

// isList reports whether n is a list of names, at least one, that are no patterns.
func isList(n *node) bool {
	return len(n.items) > 0 && !slices.ContainsFunc(n.items, func(item *node) bool { return item.kind != kindString || strings.ContainsAny(item.text, "*?[") })
}

// spellValue converts the value of the member at i, if another program writes it differently. The
// value of one to remove becomes nil.
func (t *tidier) spellValue(i int) {
	m := t.out.members[i]
	text := func(s string) *node { return &node{kind: kindString, text: s, at: m.value.at} }
	switch {
	case m.name == "type" || m.name == "transport":
		if kind, ok := TransportOf(m.value.text); ok && m.value.kind == kindString && transports[m.value.text] == "" {
			t.change(m, "write \"%s\" as '%s'", kind, m.name)
			t.out.members[i].value = text(string(kind))
		}
	case m.name == "command" && m.value.kind == kindList && isText(m.value.items):
		t.change(m, "write only the program as 'command', and the rest in 'args'")
		t.out.members[i].value = m.value.items[0]
		t.prependArgs(m.at, m.value.items[1:])
	case m.name == "command" && m.value.kind == kindString:
		var words []*node
		for _, word := range SplitCommand(m.value.text) {
			words = append(words, text(word))
		}
		if len(words) > 1 {
			t.change(m, "write only the program as 'command', and the rest in 'args'")
			t.out.members[i].value = words[0]
			t.prependArgs(m.at, words[1:])
		}
	case m.name == "tools" && len(m.value.items) == 1 && m.value.items[0].text == "*":
		t.change(m, "leave out 'tools'")
		t.out.members[i].value = nil
	case m.name == "tools" && m.value.kind == kindList && isList(m.value) && t.out.get("includeTools") == nil:
		t.change(m, "write 'includeTools' for 'tools'")
		t.out.members[i].name = "includeTools"
	case m.name == "env" && m.value.kind == kindList && isText(m.value.items):
		t.change(m, "write 'env' as an object")
		env := &node{kind: kindObject, at: m.value.at}
		for _, item := range m.value.items {
			name, value, _ := strings.Cut(item.text, "=")
			if !strings.Contains(item.text, "=") {
				value = "${" + name + ":-}"
			}
			env.members = append(env.members, member{name, item.at, &node{kind: kindString, text: value, at: item.at}})
		}
		t.out.members[i].value = env
	}
}

func isText(items []*node) bool {
	return len(items) > 0 && !slices.ContainsFunc(items, func(item *node) bool { return item.kind != kindString || item.text == "" })
}

// prependArgs puts words before the arguments.
func (t *tidier) prependArgs(at Position, words []*node) {
	for i, m := range t.out.members {
		if m.name == "args" {
			args := *m.value
			if args.items = slices.Concat(words, args.items); args.kind == kindList {
				t.out.members[i].value = &args
			}
			return
		}
	}
	t.out.members = append(t.out.members, member{"args", at, &node{kind: kindList, items: words, at: at}})
}

// convertInputs replaces the references to inputs of VS Code in the texts of n: in n itself, or in its
// items or members.
func (t *tidier) convertInputs(key member, n *node) *node {
	text := func(n *node) *node {
		if n.kind != kindString || !strings.Contains(n.text, "${input:") {
			return n
		}
		converted := *n
		converted.text = inputReference().ReplaceAllStringFunc(n.text, func(ref string) string {
			if strings.HasPrefix(ref, "$$") {
				return ref
			}
			id := strings.TrimSuffix(strings.TrimPrefix(ref, "${input:"), "}")
			t.change(key, "write a variable or secret for each ${input:…} in '%s'", key.name)
			return InputReference(id, t.inputs[id].password, t.inputs[id].standard)
		})
		return &converted
	}
	all := *text(n)
	all.items, all.members = slices.Clone(n.items), slices.Clone(n.members)
	for i, item := range n.items {
		all.items[i] = text(item)
	}
	for i, m := range n.members {
		all.members[i].value = text(m.value)
	}
	return &all
}

// maxPlaces limits the number of places in a suggestion; a key with more is typical of none.
const maxPlaces = 3

// placesOf returns the sections of the configuration that have a key called name, sorted:
// "'globalSettings'", "a server".
func placesOf(name string) []string {
	if places := keyPlaces()[name]; len(places) <= maxPlaces {
		return places
	}
	return nil
}

var keyPlaces = sync.OnceValue(func() map[string][]string {
	root := schemaTree()
	places := map[string][]string{}
	for name, section := range root.Properties {
		places[name] = append(places[name], "the top-level object")
		for key := range section.Properties {
			places[key] = append(places[key], "'"+name+"'")
		}
	}
	for name, title := range map[string]string{"server": "a server", "tool": "a tool in 'tools' of a server", "profile": "a profile", "client": "a client in 'clients'"} {
		for key := range root.Defs[name].Properties {
			places[key] = append(places[key], title)
		}
	}
	for _, list := range places {
		slices.Sort(list)
	}
	return places
})

// Nearest returns the known word that is most similar to word, or "" if none is close: equal
// ignoring case and separators, within an edit distance of a third of its length, or the first one
// that begins with word, if that has three letters. Words of more than 64 bytes are close to none.
func Nearest(word string, known []string) string {
	if len(word) > maxCompared {
		return ""
	}
	best, distance, folded := "", max(1, len(word)/3)+1, fold(word)
	for _, k := range known {
		other := fold(k)
		if len(other) > len(folded)+distance || len(folded) > len(other)+distance {
			continue // the distance is at least the difference of the lengths
		}
		if d := editDistance(folded, other); d < distance {
			best, distance = k, d
		}
	}
	if best == "" && len(word) > 2 {
		if at := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(fold(k), folded) }); at >= 0 {
			return known[at]
		}
	}
	return best
}

// maxCompared is the length of the longest word whose distance from others is computed, in bytes.
const maxCompared = 64

func fold(s string) string { return strings.ToLower(separators.Replace(s)) }

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// editDistance counts insertions, deletions, substitutions and swaps of adjacent characters.
func editDistance(a, b string) int {
	if len(a) > maxCompared || len(b) > maxCompared {
		return maxCompared
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
