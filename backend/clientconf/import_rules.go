package clientconf

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// ruleSource is one place outside of the entries of servers where a client keeps rules about tools: a row
// of the key tables.
type ruleSource struct {
	// Files are candidate paths ({DIR} is the folder of the client's own file), and Project paths in a
	// project. Without them, the rules are in the files that contain the servers.
	Files   []string `json:"files"`
	Project []string `json:"project"`
	At      []string `json:"at"` // path of keys; {agent} is the default agent
	// Tool is how the rules name a tool, with {server} and {tool}.
	Tool string `json:"tool"`
	// Action is what a list of names means: deny or ask. Other rules have their own. Special forms are
	// profiles (of Zed), policy (of Gemini CLI), deniedServers and allowedServers (of Claude Code).
	Action string `json:"action"`
	// Order is which of several rules for a tool counts: first or last; if empty, the strictest.
	Order string `json:"order"`
	// Except lists tools of the client itself.
	Except []string `json:"except"`
}

type toolRules struct {
	ruleSource
	file  string // that contains them; "" for that of the servers
	rules []toolRule
	// only lists the only tools that are allowed, by server; nil if it does not limit them.
	only map[string][]any
	// entries are those of a list of servers that are denied or allowed.
	entries []any
}

// toolRule is one rule: allow, ask or deny for all tools that pattern matches. Other actions cannot be
// converted.
type toolRule struct{ pattern, action string }

func (s toolRules) name() string {
	name := strings.Join(s.At, ".")
	if s.file != "" {
		name = strings.TrimPrefix(name+" in ", " in ") + s.file
	}
	return name
}

// commandRule is the form of rules about the program or the URL of a server.
const commandRule = "{command}"

// rulesIn returns the rules of a decoded file. Without the file, the order of rules is unknown, so that the
// strictest count.
func (s ruleSource) rulesIn(m map[string]any, file document) (toolRules, bool) {
	if file == nil {
		s.Order = ""
	}
	set := toolRules{ruleSource: s}
	switch s.Action {
	case "profiles":
		set.only = onlyTools(m)
	case "deniedServers", "allowedServers":
		list, ok := valueAt(m, s.At).([]any)
		set.entries = append([]any{}, list...)
		return set, ok
	}
	set.rules = s.listRules(m, file)
	return set, len(set.rules) > 0 || set.only != nil
}

// onlyTools returns the only tools that the active profile of Zed allows, by server; nil if it allows those
// of all servers.
func onlyTools(m map[string]any) map[string][]any {
	agent, _ := m["agent"].(map[string]any)
	active := cmp.Or(firstString(agent, "default_profile"), "write")
	profile, _ := valueAt(agent, []string{"profiles", active}).(map[string]any)
	all, isSet := profile["enable_all_context_servers"].(bool)
	if all || !isSet && active == "write" {
		return nil
	}
	only := map[string][]any{}
	servers, _ := profile["context_servers"].(map[string]any)
	for server := range servers {
		tools, _ := valueAt(servers, []string{server, "tools"}).(map[string]any)
		for _, tool := range slices.Sorted(maps.Keys(tools)) {
			if tools[tool] == true {
				only[server] = append(only[server], tool)
			}
		}
	}
	return only
}

func (s ruleSource) listRules(m map[string]any, file document) (all []toolRule) {
	add := func(pattern string, v any) {
		if base, args, conditional := strings.Cut(pattern, "("); conditional && s.Except != nil {
			if pattern = base; args != "*)" {
				v = "unknown"
			}
		}
		if pattern != "" && !slices.Contains(s.Except, pattern) {
			all = append(all, toolRule{pattern, ruleAction(v)})
		}
	}
	at := slices.Clone(s.At)
	for i, key := range at {
		if key == "{agent}" {
			at[i] = cmp.Or(firstString(m, "default_agent"), "build")
		}
	}
	switch v := valueAt(m, at).(type) {
	case string, bool:
		add("*", v)
	case []any:
		for _, item := range v {
			switch item := item.(type) {
			case string:
				add(item, s.Action)
			case map[string]any:
				if s.Action == "policy" {
					s.policyRule(item, add)
					continue
				}
				matches, _ := item["matches"].(map[string]any)
				switch launch := firstString(matches, "command", "url"); {
				case s.Tool == commandRule && (launch == "" || len(matches) > 1):
					add("*", "unknown")
				case s.Tool == commandRule:
					add(launch, item["action"])
				case len(matches) > 0: // it depends on arguments
					add(firstString(item, "tool", "toolName"), "unknown")
				default:
					add(firstString(item, "tool", "toolName"), firstMember(item, "action", "permission"))
				}
			}
		}
	case map[string]any:
		for _, key := range s.orderedKeys(v, at, file) {
			profile, _ := v[key].(map[string]any)
			servers, _ := profile["context_servers"].(map[string]any)
			for server, settings := range servers {
				tools, _ := valueAt(map[string]any{"": settings}, []string{"", "tools"}).(map[string]any)
				for tool, on := range tools {
					if on == false {
						add(strings.NewReplacer("{server}", server, "{tool}", tool).Replace(s.Tool), on)
					}
				}
			}
			if servers == nil && s.Action == "" {
				add(key, v[key])
			}
		}
	}
	return all
}

// policyRule adds a rule of a policy file of Gemini CLI. Those that allow are ignored, as the strictest counts.
func (s ruleSource) policyRule(rule map[string]any, add func(string, any)) {
	modes := stringList(rule["modes"])
	decision := ruleAction(rule["decision"])
	switch {
	case decision == "allow", !isBlank(rule["subagent"]), !isBlank(rule["commandPrefix"]), !isBlank(rule["commandRegex"]),
		len(modes) == 1 && modes[0] == "plan":
		return
	case !isBlank(rule["argsPattern"]), !isBlank(rule["toolAnnotations"]):
		decision = "unknown"
	}
	names := stringList(rule["toolName"])
	if len(names) == 0 {
		names = []string{"*"}
	}
	server := firstString(rule, "mcpName")
	for _, name := range names {
		switch {
		case server == "":
			add(name, decision)
		case strings.Contains(s.Tool, "{server}"):
			add(strings.NewReplacer("{server}", server, "{tool}", name).Replace(s.Tool), decision)
		}
	}
}

// orderedKeys returns the keys of an object in the order of the file, if that matters.
func (s ruleSource) orderedKeys(m map[string]any, at []string, file document) (keys []string) {
	if s.Order == "" {
		return slices.Sorted(maps.Keys(m))
	}
	last := len(at) - 1
	_, value, _ := file.entry(at[:last], at[last]) // it was decoded before
	members, _ := orderedMembers(value)
	for _, one := range members {
		keys = append(keys, one.key)
	}
	if len(keys) != len(m) {
		return slices.Sorted(maps.Keys(m))
	}
	return keys
}

// ruleAction returns what a value allows: allow, ask, deny, or "" for anything else.
func ruleAction(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "allow"
		}
		return "deny"
	case string:
		switch strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(v)) {
		case "allow", "alwaysallow":
			return "allow"
		case "ask", "askuser", "askbefore", "confirm", "alwaysconfirm":
			return "ask"
		case "deny", "reject", "neverallow", "alwaysdeny":
			return "deny"
		}
	case map[string]any:
		if on, isSwitch := v["enabled"].(bool); isSwitch && len(v) == 1 {
			return ruleAction(on)
		}
		action := ruleAction(firstMember(v, "default", "*", "type"))
		for key, other := range v {
			if !slices.Contains([]string{"default", "*", "type", "always_allow"}, key) && !isBlank(other) && action != "deny" {
				return ""
			}
		}
		return action
	}
	return ""
}

// nameChars matches what clients replace in the names of servers.
var nameChars = osutil.LazyRegexp(`[^A-Za-z0-9_-]`)

// toolPatterns returns the patterns for tools of a server that a pattern for names of the client stands
// for.
func (s ruleSource) toolPatterns(server, pattern string) (patterns []string) {
	form, suffix, hasTool := strings.Cut(s.Tool, "{tool}")
	for _, name := range []string{server, nameChars().ReplaceAllString(server, "_"), strings.ToLower(strings.ReplaceAll(server, " ", ""))} {
		prefix := strings.ReplaceAll(form, "{server}", name)
		end := strings.ReplaceAll(suffix, "{server}", name)
		rest, ok := strings.CutSuffix(pattern, end)
		switch {
		case !ok && pattern != "*":
		case !ok, strings.HasPrefix(prefix, "mcp") && pattern == strings.TrimRight(prefix, "_:"):
			patterns = append(patterns, "*")
		case !hasTool:
			if config.Match(pattern, prefix) {
				patterns = append(patterns, "*")
			}
		default:
			patterns = append(patterns, residuals(rest, prefix)...)
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// residuals returns the patterns for the rest of the names that begin with prefix and match pattern.
func residuals(pattern, prefix string) []string {
	states := map[string]bool{pattern: true}
	for n := range len(prefix) {
		next := map[string]bool{}
		for state := range states {
			for ; strings.HasPrefix(state, "*"); state = state[1:] {
				next[state] = true
			}
			if state != "" && (state[0] == '?' || state[0] == prefix[n]) {
				next[state[1:]] = true
			}
		}
		states = next
	}
	delete(states, "")
	return slices.Sorted(maps.Keys(states))
}

// limitByRules applies the rules that the client has about the tools of the server outside of its entry.
func (b *entryConverter) limitByRules(e *configEntry) {
	for _, set := range b.rules {
		if set.only != nil {
			b.addNote("Rules of %s about its tools are copied from %s", b.client.Name, set.name())
			b.includeTools(e, set.name(), append([]any{}, set.only[b.name]...))
		}
		if set.entries != nil && b.isListed(e, set) == (set.Action == "deniedServers") {
			b.switchOff(set)
		}
		if set.Tool == commandRule {
			launch := strings.Join(append([]string{e.Command}, e.Args...), " ")
			if at := slices.IndexFunc(set.rules, func(r toolRule) bool { return config.Match(r.pattern, strings.TrimSpace(launch+e.URL)) }); at >= 0 && set.rules[at].action != "allow" {
				b.restrict(set.name())
			}
			continue
		}
		var denied, asked, allowed []string
		rules := slices.Clone(set.rules)
		if set.Order == "first" {
			slices.Reverse(rules)
		}
		for _, rule := range rules {
			for _, pattern := range set.toolPatterns(b.name, rule.pattern) {
				all := strings.Trim(pattern, "*") == ""
				switch {
				case set.Order != "" && all:
					denied, asked, allowed = nil, nil, nil
				case set.Order != "":
					same := func(other string) bool { return other == pattern }
					denied, asked = slices.DeleteFunc(denied, same), slices.DeleteFunc(asked, same)
				}
				switch rule.action {
				case "deny":
					denied = append(denied, pattern)
				case "ask":
					asked = append(asked, pattern)
				case "allow":
					allowed = append(allowed, pattern)
				default:
					b.restrict(set.name())
				}
			}
		}
		b.limit(e, set, denied, asked, allowed)
	}
}

// switchOff disables a server that the client does not start.
func (b *entryConverter) switchOff(set toolRules) {
	b.off = true
	b.addNote("The server is disabled, because %s does not start it: see %s", b.client.Name, set.name())
}

// isListed reports whether a list of servers names this one: by name, command or URL. In a list of what is
// allowed, names do not count beside commands or URLs.
func (b *entryConverter) isListed(e *configEntry, set toolRules) bool {
	kind, value := "serverCommand", "serverName"
	if e.Command == "" {
		kind = "serverUrl"
	}
	isKind := func(v any) bool {
		m, _ := v.(map[string]any)
		return m[kind] != nil
	}
	if set.Action == "allowedServers" && slices.ContainsFunc(set.entries, isKind) {
		value = ""
	}
	return slices.ContainsFunc(set.entries, func(v any) bool {
		m, _ := v.(map[string]any)
		switch {
		case kind == "serverUrl" && m[kind] != nil:
			return config.Match(firstString(m, kind), e.URL)
		case m[kind] != nil:
			return slices.Equal(stringList(m[kind]), append([]string{e.Command}, e.Args...))
		case len(m) == 0 || m["serverName"] == nil && m["serverUrl"] == nil && m["serverCommand"] == nil:
			return set.Action == "deniedServers" // a form that is unknown here
		}
		return m[cmp.Or(value, kind)] == b.name
	})
}

// limit applies the rules of one source. What is allowed after all tools were denied are the only tools.
func (b *entryConverter) limit(e *configEntry, set toolRules, denied, asked, allowed []string) {
	if !strings.Contains(set.Tool, "{tool}") {
		if len(denied) > 0 {
			b.switchOff(set)
		}
		return
	}
	if len(denied)+len(asked) > 0 {
		b.addNote("Rules of %s about its tools are copied from %s", b.client.Name, set.name())
	}
	if all := slices.Index(denied, "*"); set.Order != "" && all >= 0 && len(allowed) > 0 && !strings.ContainsAny(strings.Join(slices.Concat(allowed, asked), ""), "*?") {
		var names []any
		for _, name := range slices.Concat(allowed, asked) {
			names = append(names, name)
		}
		b.includeTools(e, set.name(), names)
		denied = slices.Delete(denied, all, all+1)
	}
	for _, pattern := range denied {
		if !slices.Contains(e.ExcludeTools, pattern) {
			e.ExcludeTools = append(e.ExcludeTools, pattern)
		}
	}
	for _, pattern := range asked {
		if strings.ContainsAny(pattern, "*?") {
			e.Approval = "ask"
			continue
		}
		if e.Tools == nil {
			e.Tools = map[string]toolEntry{}
		}
		if e.Tools[pattern].Approval != "deny" {
			e.Tools[pattern] = toolEntry{Approval: "ask"}
		}
	}
}

// rulesOutside returns the rules of a client about tools: those in the files that contain its servers, and
// those in other files. A file that cannot be read restricts every server.
func rulesOutside(system System, client Client, own string, plans []*Plan, dir string) (all []toolRules) {
	for _, source := range knownKeys().Clients[client.ID].Rules {
		files := []string{}
		for _, path := range source.Files {
			files = append(files, system.expand(strings.ReplaceAll(path, "{DIR}", filepath.ToSlash(filepath.Dir(own))))...)
		}
		for _, path := range source.Project {
			if dir != "" {
				files = append(files, system.expand(filepath.ToSlash(dir)+"/"+path)...)
			}
		}
		found := plans
		if len(source.Files) > 0 {
			found = nil
		}
		for _, path := range files {
			p := &Plan{Client: Client{Format: JSONC}, target: path}
			switch {
			case config.IsYAML(path):
				p.Client.Format = YAML
			case strings.HasSuffix(path, ".toml"):
				p.Client.Format = TOML
			}
			if err := p.decode(); err != nil {
				all = append(all, toolRules{ruleSource: ruleSource{Tool: "{tool}"}, file: path, rules: []toolRule{{"*", ""}}})
			}
			found = append(slices.Clip(found), p)
		}
		for _, p := range found {
			if rules, ok := source.rulesIn(p.root, p.file); ok {
				rules.file = p.target
				all = append(all, rules)
			}
		}
	}
	return all
}

// pastedRules returns the rules in a text of an unknown client with servers at path.
func pastedRules(m map[string]any, path []string) (all []toolRules) {
	for _, client := range Known() {
		for _, source := range knownKeys().Clients[client.ID].Rules {
			if slices.Equal(client.KeyPath, path) && len(source.At) > 0 {
				if rules, ok := source.rulesIn(m, nil); ok {
					all = append(all, rules)
				}
			}
		}
	}
	return all
}

// signInKeys are our names of the members that clients have in their settings for sign-in, written as
// looseKey returns them.
var signInKeys = map[string]string{
	"clientid": "clientId", "clientsecret": "clientSecret", "clientmetadataurl": "clientMetadataUrl", "issuer": "issuer",
	"scope": "scopes", "scopes": "scopes", "callbackport": "callbackPort", "redirectport": "callbackPort", "enabled": "enabled",
}

// convertSignIn converts an object with settings for sign-in, a single one of them, or whether the
// client signs in.
func (b *entryConverter) convertSignIn(e *configEntry, key string, v any) {
	switch v := v.(type) {
	case bool:
		if !v {
			b.setSignIn(e, "enabled", false)
		}
		return
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			loose := looseKey(name)
			switch {
			case isBlank(v[name]), loose == "headers", loose == "type", strings.HasPrefix(loose, "apikey"): // headers: see convertURL
			case signInKeys[loose] == "" || !b.setSignIn(e, signInKeys[loose], v[name]):
				b.restrict(key + "." + name)
			}
		}
		return
	case string:
		if key == "auth" && (v == "oauth" || v == "none") {
			return
		}
	}
	name := signInKeys[strings.TrimPrefix(looseKey(key), "oauth")]
	if name == "" || !b.setSignIn(e, name, v) {
		b.restrict(key)
	}
}

// setSignIn sets one member of oauth. ok is false if the value has another type.
func (b *entryConverter) setSignIn(e *configEntry, name string, v any) (ok bool) {
	switch text, isText := v.(string); name {
	case "enabled":
		_, ok = v.(bool)
	case "callbackPort":
		_, ok = v.(json.Number)
	case "scopes":
		var scopes []string
		if isText {
			scopes, ok = strings.Fields(text), true
		} else {
			scopes, ok = textList(v)
		}
		v = scopes
	default:
		v, ok = b.convertText(text), isText
	}
	if ok {
		if e.OAuth == nil {
			e.OAuth = map[string]any{}
		}
		e.OAuth[name] = v
	}
	return ok
}

// maxEnvFile is the maximum size of a file with variables.
const maxEnvFile = 1 << 18

var variableLine = osutil.LazyRegexp(`^(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(.*)$`)

// convertEnvFile copies the variables of a file, as literal values. Those of env win. If the file cannot
// be read here, the server is disabled.
func (b *entryConverter) convertEnvFile(e *configEntry, key string, v any) {
	path, _ := v.(string)
	home := strings.NewReplacer("${userHome}", b.home, "${env:HOME}", b.home, "${HOME}", b.home)
	if rest, ok := strings.CutPrefix(home.Replace(path), "~/"); ok {
		path = filepath.Join(b.home, rest)
	} else if path = home.Replace(path); b.dir != "" {
		if path = strings.ReplaceAll(path, "${workspaceFolder}", b.dir); !filepath.IsAbs(path) {
			path = filepath.Join(b.dir, path)
		}
	}
	info, err := os.Stat(path)
	if b.home == "" || !filepath.IsAbs(path) || err != nil || !info.Mode().IsRegular() || info.Size() > maxEnvFile {
		b.restrict(key)
		return
	}
	content, err := osutil.ReadFile(path)
	if err != nil {
		b.restrict(key)
		return
	}
	var names []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		match := variableLine().FindStringSubmatch(line)
		value, ok := "", false
		if match != nil {
			value, ok = envFileValue(match[2])
		}
		if !ok {
			b.restrict(key)
			return
		}
		if e.Env == nil {
			e.Env = map[string]string{}
		}
		if _, isSet := e.Env[match[1]]; !isSet {
			e.Env[match[1]] = strings.ReplaceAll(value, "${", "$${")
			names = append(names, match[1])
		}
	}
	b.addNote("The variables of %s are copied: %s. Later changes of the file have no effect", path, strings.Join(names, ", "))
}

// envFileValue returns a value without its quotes or comment. ok is false for one over several lines.
func envFileValue(text string) (value string, ok bool) {
	if text == "" || !strings.ContainsRune(`"'`, rune(text[0])) {
		text, _, _ = strings.Cut(text, " #")
		return strings.TrimSpace(text), true
	}
	inner, rest, ok := strings.Cut(text[1:], text[:1])
	for text[0] == '"' && ok && strings.HasSuffix(inner, `\`) {
		var more string
		more, rest, ok = strings.Cut(rest, `"`)
		inner += `"` + more
	}
	if rest = strings.TrimSpace(rest); !ok || rest != "" && rest[0] != '#' {
		return "", false
	}
	if text[0] == '"' {
		inner = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\\`, `\`).Replace(inner)
	}
	return inner, true
}
