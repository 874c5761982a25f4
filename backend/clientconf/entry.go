package clientconf

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"

	"github.com/tailscale/hujson"
)

// EntryName is the name under which clients know us.
const EntryName = "drawbridge"

var emptyEnv = regexp.MustCompile(`,?\s*"(env|envs|environment)":\s*\{\s*\}`)

// stdioEntry fills the client's stdio template: the shim's program and arguments.
func stdioEntry(c Client, name, program string, args []string) json.RawMessage {
	list := make([]string, len(args))
	for i, arg := range args {
		list[i] = jsonString(arg)
	}
	filled := strings.NewReplacer(
		`"{{CMD}}"`, jsonString(program),
		`"{{ARG}}"`, strings.Join(list, ", "),
		`"{{NAME}}"`, jsonString(name),
		`"{{ENVKEY}}": "{{ENVVAL}}"`, "",
	).Replace(string(c.Stdio))
	return json.RawMessage(emptyEnv.ReplaceAllString(filled, ""))
}

// isOurs reports whether entry starts our shim, wherever its program is: an entry
// under our name that somebody else wrote is never overwritten.
func isOurs(entry []byte) bool {
	standard, err := hujson.Standardize(bytes.Clone(entry))
	if err != nil {
		return false
	}
	var e struct {
		Command json.RawMessage
		Cmd     string
		Args    []string
	}
	if json.Unmarshal(standard, &e) != nil {
		return false
	}
	words := append([]string{e.Cmd}, e.Args...)
	var one string
	var many []string
	if json.Unmarshal(e.Command, &one) == nil {
		words = append([]string{one}, e.Args...)
	} else if json.Unmarshal(e.Command, &many) == nil {
		words = many
	}
	return len(words) >= 2 && programName(words[0]) == "drawbridge" && words[1] == "stdio"
}

func programName(path string) string {
	path = path[strings.LastIndexAny(path, `/\`)+1:]
	return strings.TrimSuffix(strings.ToLower(path), ".exe")
}

// sameElse reports whether before and after mean the same but for the entry
// path/name, numbers compared digit by digit. It is the last check before a write.
func sameElse(before, after []byte, path []string, name string) bool {
	a, okA := meaning(before)
	b, okB := meaning(after)
	if !okA || !okB {
		return false
	}
	strip(a, path, name)
	strip(b, path, name)
	return reflect.DeepEqual(a, b)
}

func meaning(src []byte) (map[string]any, bool) {
	src = bytes.TrimPrefix(src, utf8BOM)
	if len(bytes.TrimSpace(src)) == 0 {
		return map[string]any{}, true
	}
	standard, err := hujson.Standardize(bytes.Clone(src))
	if err != nil {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(standard))
	decoder.UseNumber()
	var m map[string]any
	return m, decoder.Decode(&m) == nil && m != nil
}

// strip deletes path/name from m, and containers on the way that are then empty.
func strip(m map[string]any, path []string, name string) {
	if len(path) == 0 {
		delete(m, name)
		return
	}
	child, ok := m[path[0]].(map[string]any)
	if !ok {
		return
	}
	strip(child, path[1:], name)
	if len(child) == 0 {
		delete(m, path[0])
	}
}

// snippet is what a person pastes where we cannot edit.
func snippet(path []string, name string, entry json.RawMessage) string {
	text := "{" + jsonString(name) + ":" + string(entry) + "}"
	for i := len(path) - 1; i >= 0; i-- {
		text = "{" + jsonString(path[i]) + ":" + text + "}"
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

func jsonString(s string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
