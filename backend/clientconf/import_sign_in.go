package clientconf

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

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
	content, err := os.ReadFile(path)
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
