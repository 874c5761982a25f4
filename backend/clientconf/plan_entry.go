package clientconf

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// EntryName is the name of our entry in client files.
const EntryName = "drawbridge"

var emptyEnv = lazyregexp.New(`,?\s*"(env|envs|environment)":\s*\{\s*\}`)

// stdioEntry fills the client's stdio template with the shim's program and arguments.
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
	return json.RawMessage(emptyEnv().ReplaceAllString(filled, ""))
}

// isOurs reports whether entry connects to Drawbridge: it starts our shim, from any path, or
// has the URL of our bridge. Other entries are never overwritten.
func isOurs(entry json.RawMessage) bool { return startsShim(entry) || isOurAddress(entry) }

func startsShim(entry json.RawMessage) bool {
	var e struct {
		Command json.RawMessage
		Cmd     string
		Args    []string
	}
	if json.Unmarshal(entry, &e) != nil {
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

// snippet returns the text to paste where the file cannot be edited.
func snippet(c Client, name string, entry json.RawMessage) string {
	if c.Format == TOML {
		if text, err := (&tomlFile{newline: "\n", list: c.Container == "list"}).renderTable(c.KeyPath, name, entry); err == nil {
			return text
		}
	}
	path := c.KeyPath
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
	_ = encoder.Encode(s) // encoding a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}
