package clientconf

import (
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// EntryName is the name of our entry in client files.
const EntryName = "drawbridge"

var emptyEnv = osutil.LazyRegexp(`,?\s*"(env|envs|environment)":\s*\{\s*\}`)

// stdioEntry fills the client's stdio template with the shim's program and arguments.
func stdioEntry(c Client, name, program string, args []string) json.RawMessage {
	list := make([]string, len(args))
	for i, arg := range args {
		list[i] = core.QuoteJSON(arg)
	}
	filled := strings.NewReplacer(
		`"{{CMD}}"`, core.QuoteJSON(program),
		`"{{ARG}}"`, strings.Join(list, ", "),
		`"{{NAME}}"`, core.QuoteJSON(name),
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

// withoutWrapper returns a command without "cmd /c" or "env NAME=VALUE" before it.
func withoutWrapper(words []string) []string {
	switch {
	case len(words) > 2 && programName(words[0]) == "cmd" && strings.EqualFold(words[1], "/c"):
		return words[2:]
	case len(words) > 1 && programName(words[0]) == "env":
		for words = words[1:]; len(words) > 1 && (strings.Contains(words[0], "=") || words[0] == "-S"); {
			words = words[1:]
		}
	}
	return words
}

func programName(path string) string {
	path = path[strings.LastIndexAny(path, `/\`)+1:]
	return strings.TrimSuffix(strings.ToLower(path), ".exe")
}

// edit sets one entry to value, or removes it if value is nil.
type edit struct {
	path  []string
	name  string
	value json.RawMessage
}

func (c *Connector) buildEdits(client Client, choice Choice, file string) ([]edit, error) {
	if !choice.HTTP {
		if err := osutil.CheckInstalled(c.program); err != nil {
			return nil, &core.Error{Code: core.CodeUnavailable, Message: err.Error()}
		}
	}
	singles := choice.Servers
	if len(singles) == 0 {
		singles = []ServerEntry{{Name: EntryName}}
	}
	var all []edit
	for _, s := range singles {
		value := c.shimEntry(client, s)
		if choice.HTTP {
			var err error
			if value, err = httpEntry(client, s, choice, file); err != nil {
				return nil, err
			}
		}
		all = append(all, edit{scopePath(client, s.Scope), s.Name, value})
	}
	return all, nil
}

func scopePath(client Client, scope string) []string {
	if scope == "" {
		return client.KeyPath
	}
	return append([]string{"projects", scope}, client.KeyPath...)
}

func (c *Connector) shimEntry(client Client, s ServerEntry) json.RawMessage {
	args := []string{"stdio", "--client", client.ID}
	if s.Server != "" {
		args = append(args, "--server", s.Server)
	}
	if c.data != "" {
		args = append(args, "--data", c.data)
	}
	return stdioEntry(client, s.Name, c.program, args)
}

// httpEntry fills the client's HTTP template. The token is written only if the file stays on
// this machine and belongs to the user.
func httpEntry(client Client, s ServerEntry, choice Choice, file string) (json.RawMessage, error) {
	if client.HTTP == nil {
		return nil, core.Errorf(core.CodeValidation, "%s supports only commands, not URLs", client.Name)
	}
	address := choice.URL + "/mcp"
	if s.Server != "" {
		address = choice.URL + "/s/" + url.PathEscape(s.Server) + "/mcp"
	}
	token := choice.Token
	if choice.ByVariable || choice.Project != "" || client.Synced || inRepository(file) {
		if token = variableReference(client, TokenVar); token == "" {
			return nil, &core.Error{
				Code:    core.CodeRejected,
				Message: "cannot write the access token to this file: the file may leave this machine, and " + client.Name + " cannot read one from a variable",
				Hint:    "Nothing was changed. Connect without --http: the shim keeps it out of the file.",
			}
		}
	}
	if token == "" {
		return nil, errors.New("an entry with a URL requires the client's access token")
	}
	return json.RawMessage(strings.NewReplacer(
		`{{URL}}`, jsonStringContent(address), `{{TOKEN}}`, jsonStringContent(token), `{{NAME}}`, jsonStringContent(s.Name),
	).Replace(string(client.HTTP))), nil
}

// jsonStringContent returns s as the content of a JSON string, without the quotes.
func jsonStringContent(s string) string {
	quoted := core.QuoteJSON(s)
	return quoted[1 : len(quoted)-1]
}

// variableReference returns the reference to a variable in a form that the client expands, or "" if
// it expands none.
func variableReference(client Client, name string) string {
	for _, form := range client.VariableForms {
		switch form {
		case "${}":
			return "${" + name + "}"
		case "${env:}":
			return "${env:" + name + "}"
		case "{env:}":
			return "{env:" + name + "}"
		}
	}
	return ""
}

// inRepository reports whether file is inside a git work tree, as dotfiles often are.
func inRepository(file string) bool {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, ".git")) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

var bridgePath = osutil.LazyRegexp(`^/(mcp|[sp]/[^/]+/mcp)$`)

// isOurAddress reports whether an entry has the URL of a Drawbridge bridge: on this machine,
// with one of our paths, and with one of our tokens or a reference to TokenVar.
func isOurAddress(entry json.RawMessage) bool {
	var m map[string]any
	if json.Unmarshal(entry, &m) != nil {
		return false
	}
	address := firstString(m, "url", "httpUrl", "serverUrl", "uri", "baseUrl")
	u, err := url.Parse(address)
	if err != nil || !isLoopbackHost(u.Hostname()) || !bridgePath().MatchString(u.Path) {
		return false
	}
	text := string(entry)
	return strings.Contains(text, "Bearer dbr_") || strings.Contains(text, TokenVar)
}

func isLoopbackHost(name string) bool {
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && addr.IsLoopback()
}

func firstString(m map[string]any, keys ...string) string {
	for _, key := range keys {
		if s, ok := m[key].(string); ok && s != "" {
			return s
		}
	}
	return ""
}
