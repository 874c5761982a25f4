package clientconf

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

const (
	maxTimeout  = 24 * time.Hour // of our configuration
	maxKeyNotes = 20             // notes about unknown keys of one entry
)

// convertSwitches converts everything except for the program or URL, and accounts for every key: it is
// converted, harmless, or named in a note. If it limits the server and cannot be converted, the
// server is disabled.
func (b *entryConverter) convertSwitches(e *configEntry, m map[string]any) {
	keys, notCopied := knownKeys(), 0
	for _, key := range slices.Sorted(maps.Keys(m)) {
		v, meaning := m[key], keys.meaning(b.client.ID, key)
		remoteOnly := e.Command != "" && slices.Contains([]string{"remote", "auth", "oauth", "resource"}, meaning)
		switch {
		case meaning == "include" && v != nil, meaning == "includeSome" && !isBlank(v):
			b.includeTools(e, key, v)
		case meaning == "tools" && v != nil && isBlank(v) && (b.client.isPasted() || b.client.ID == "copilot-cli"):
			if list, isList := v.([]any); isList { // none
				b.includeTools(e, key, list)
			}
		case meaning != "" && isBlank(v):
		case remoteOnly, e.URL != "" && (meaning == "program" || meaning == "envFile"):
			b.addNote("%q is not copied", key)
		case meaning != "":
			b.convertSwitch(e, key, v, meaning)
		default:
			notCopied++
			b.disabled = b.disabled || limiting().MatchString(key) // even if it has no note
			if notCopied <= maxKeyNotes {
				b.noteUnknown(key)
			}
		}
	}
	if notCopied > maxKeyNotes {
		b.addNote("%s are not copied", core.Plural(notCopied-maxKeyNotes, "more key"))
	}
	b.limitByRules(e)
}

func (b *entryConverter) convertSwitch(e *configEntry, key string, v any, meaning string) {
	noEffect := knownKeys().hasNoEffect(key, v)
	switch meaning {
	case "program", "remote":
		b.checkText(e, key, v)
	case "auth", "oauth":
		b.convertSignIn(e, key, v)
	case "resource":
		if v != e.URL {
			b.restrict(key)
		}
	case "envFile":
		b.convertEnvFile(e, key, v)
	case "startup":
		e.StartupTimeoutMs = max(e.StartupTimeoutMs, b.convertTimeout(key, v))
	case "timeout":
		b.convertTimeouts(e, key, v)
	case "enabled":
		e.Disabled = e.Disabled || v != true
	case "disabled":
		e.Disabled = e.Disabled || v != false && b.client.ID != "claude-code" // Claude Code ignores the key
	case "exclude":
		if names, ok := b.toolNames(key, v, true); ok {
			e.ExcludeTools = append(e.ExcludeTools, names...)
		}
	case "tools":
		b.convertTools(e, key, v)
	case "approval":
		b.setApproval(key, v, func(word string) { e.Approval = word })
	case "restrict":
		if strings.Contains(strings.ToLower(key), "helper") {
			b.needsCommand = true
			b.addNote("%q is not copied", key)
		} else if !noEffect {
			b.restrict(key)
		}
	case "route", "place", "note":
		switch {
		case noEffect:
		case meaning == "note" || key == "remote": // only in projects on other hosts
			b.addNote("%q is not copied", key)
		default:
			b.reroute(key)
		}
	}
}

// isBlank reports whether v is null or empty.
func isBlank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// restrict disables the server because of a setting that limits or protects it and cannot be
// converted.
func (b *entryConverter) restrict(key string) {
	b.disabled = true
	b.addNote("%s is not copied, so the server is disabled: it limits or protects the server. Set up the same in Drawbridge, then enable the server", osutil.QuotePath(key)) // the key may be in a file
}

// reroute is restrict for a setting of where the server connects to, or where it runs.
func (b *entryConverter) reroute(key string) {
	b.disabled = true
	b.addNote("%q is not copied, so the server is disabled: without it, the server would connect elsewhere or run elsewhere. Set up the same in Drawbridge, then enable the server", key)
}

func (b *entryConverter) noteUnknown(key string) {
	if key = core.Shorten(key, 60); limiting().MatchString(key) {
		b.disabled = true
		b.addNote("%q is not copied, so the server is disabled: it may limit, protect or redirect the server. Check it, then enable the server", key)
		return
	}
	b.addNote("%q is not copied", key)
}

// containerKeys are the keys of programs and URLs whose values are lists or objects.
var containerKeys = []string{"command", "cmd", "args", "env", "envs", "environment", "env_vars", "env_keys", "inheritEnv", "headers", "http_headers", "env_http_headers", "requestOptions", "requestInit", "eventSourceInit"}

// checkText adds a note about a value that convertProgram or convertURL had to ignore.
func (b *entryConverter) checkText(e *configEntry, key string, v any) {
	switch inner, isObject := v.(map[string]any); {
	case isObject && slices.Contains([]string{"requestOptions", "requestInit", "eventSourceInit"}, key):
		for name, value := range inner {
			switch meaning := knownKeys().meaning(b.client.ID, name); {
			case name == "headers", isBlank(value):
			case meaning == "":
				b.noteUnknown(key + "." + name)
			case meaning == "route" && !knownKeys().hasNoEffect(name, value):
				b.reroute(key + "." + name)
			case meaning != "route" || value == false:
				b.addNote("%q is not copied", key+"."+name)
			}
		}
	case slices.Contains(containerKeys, key):
	case slices.Contains(addressKeys, key) && b.convertText(fmt.Sprint(v)) != e.URL && strings.TrimSpace(fmt.Sprint(v)) != e.URL:
		b.addNote("%q is not copied", key)
	default:
		if _, isText := v.(string); !isText {
			b.addNote("%q is not text and is not copied", key)
		}
	}
}

// convertTimeouts converts a timeout, or an object with one for the start and one for requests.
func (b *entryConverter) convertTimeouts(e *configEntry, key string, v any) {
	parts, isObject := v.(map[string]any)
	if !isObject {
		e.RequestTimeoutMs = max(e.RequestTimeoutMs, b.convertTimeout(key, v))
		return
	}
	for name, value := range parts {
		switch name {
		case "startup":
			e.StartupTimeoutMs = max(e.StartupTimeoutMs, b.convertTimeout(key, value))
		case "request":
			e.RequestTimeoutMs = max(e.RequestTimeoutMs, b.convertTimeout(key, value))
		default:
			b.addNote("%q is not copied", key+"."+name)
		}
	}
}

// convertTimeout returns a timeout in milliseconds, at most maxTimeout; 0 if it has none.
func (b *entryConverter) convertTimeout(key string, v any) int64 {
	unit := 1.0
	if strings.HasSuffix(key, "_sec") || b.client.TimeoutUnit == "s" && (key == "timeout" || key == "connect_timeout") {
		unit = 1000
	}
	millis := math.NaN()
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64() // infinite if it is too large
		millis = f * unit
	case string:
		if f, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil || errors.Is(err, strconv.ErrRange) {
			millis = f * unit
		} else if d, err := time.ParseDuration(strings.TrimSpace(v)); err == nil {
			millis = float64(d.Milliseconds())
		}
	}
	most := float64(maxTimeout.Milliseconds())
	switch {
	case !(millis >= 1):
		b.addNote("%q is not copied", key)
		return 0
	case millis > most:
		b.addNote("%q is longer than a day: it becomes a day", key)
	}
	return int64(min(millis, most))
}

// toolNames returns a list of names of tools. If it cannot be applied as the client does, the server
// is disabled.
func (b *entryConverter) toolNames(key string, v any, patterns bool) (names []string, ok bool) {
	if text, isText := v.(string); isText {
		v = []any{text}
	}
	list, ok := v.([]any)
	globs := knownKeys().Clients[b.client.ID].Globs
	for _, item := range list {
		name, isText := item.(string)
		special := "[]{}!\\" // of patterns that ours do not have
		if !globs {
			special = ""
			if !patterns {
				special = "*?" // part of the name for the client
			}
		}
		ok = ok && isText && name != "" && !strings.ContainsAny(name, special)
		names = append(names, name)
	}
	if !ok {
		b.restrict(key)
	}
	return names, ok
}

// includeTools limits the server to a list of tools, in addition to earlier lists.
func (b *entryConverter) includeTools(e *configEntry, key string, v any) {
	names, ok := b.toolNames(key, v, false)
	if !ok {
		return
	}
	if earlier := e.IncludeTools; len(earlier) > 0 {
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(earlier, name) })
	}
	if e.IncludeTools = names; len(names) == 0 {
		e.ExcludeTools = append(e.ExcludeTools, "*")
	}
}

// convertTools converts settings of tools: a list of names, a list of objects with names, an object
// with the lists include and exclude, or an object with settings by name.
func (b *entryConverter) convertTools(e *configEntry, key string, v any) {
	switch v := v.(type) {
	case []any:
		if slices.Contains(v, any("*")) {
			return
		}
		if _, named := v[0].(map[string]any); !named {
			b.includeTools(e, key, v)
			return
		}
		for _, item := range v {
			object, _ := item.(map[string]any)
			name, _ := object["name"].(string)
			settings := maps.Clone(object)
			delete(settings, "name")
			b.convertTool(e, key, name, settings)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch value := v[name]; name {
			case "include":
				b.includeTools(e, key+"."+name, value)
			case "exclude":
				if names, ok := b.toolNames(key+"."+name, value, true); ok {
					e.ExcludeTools = append(e.ExcludeTools, names...)
				}
			case "resources", "prompts":
				if value != true && value != nil {
					b.restrict(key + "." + name)
				}
			default:
				b.convertTool(e, key, name, value)
			}
		}
	default:
		b.restrict(key)
	}
}

// limitToAgent applies the list of tools of an agent, beside its servers: @NAME for all tools of a server,
// and @NAME/TOOL for one.
func (b *entryConverter) limitToAgent(e *configEntry, name string, beside map[string]any) {
	list, isList := beside["tools"].([]any)
	if !isList || !slices.Contains([]string{"kiro", "amazon-q", "amazon-q-ide"}, b.client.ID) {
		return
	}
	var names []any
	for _, item := range list {
		text, _ := item.(string)
		if text == "*" || text == "@"+name {
			return
		}
		if tool, ok := strings.CutPrefix(text, "@"+name+"/"); ok {
			names = append(names, tool)
		}
	}
	b.includeTools(e, "tools", names)
}

// convertTool converts the settings of one tool: an object, a word for its approval, or whether it is
// offered.
func (b *entryConverter) convertTool(e *configEntry, key, name string, v any) {
	if name == "" {
		b.restrict(key)
		return
	}
	set := func(word string) {
		if e.Tools == nil {
			e.Tools = map[string]toolEntry{}
		}
		e.Tools[name] = toolEntry{Approval: word}
	}
	settings, isObject := v.(map[string]any)
	if !isObject {
		settings = map[string]any{"enabled": v}
		if _, isText := v.(string); isText {
			settings = map[string]any{"approval": v}
		}
	}
	for _, setting := range slices.Sorted(maps.Keys(settings)) {
		value := settings[setting]
		switch setting {
		case "approval_mode", "permission_policy", "approval", "permission", "org_max_permission":
			b.setApproval(key+"."+name, value, set)
		case "enabled", "disabled":
			if on, isBool := value.(bool); !isBool || on == (setting == "disabled") {
				e.ExcludeTools = append(e.ExcludeTools, name)
			}
		default:
			b.restrict(key + "." + name + "." + setting)
		}
	}
}

// setApproval converts a word for whether the client asks before a call. Words that are unknown mean
// that it asks.
func (b *entryConverter) setApproval(key string, v any, set func(word string)) {
	word, isText := v.(string)
	switch strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(word)) {
	case "":
		if !isText {
			b.restrict(key)
		}
	case "auto", "approve", "allow", "alwaysallow", "allowed", "never", "full":
	case "deny", "alwaysdeny", "denied", "blocked", "never_allow":
		set("deny")
	default:
		set("ask")
	}
}
