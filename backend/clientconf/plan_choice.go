package clientconf

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// TokenVar is the environment variable that holds a client's token if the file must not
// contain it.
const TokenVar = "DRAWBRIDGE_TOKEN"

// Choice selects how a client is connected. The zero value of every field but Client selects
// the default: one entry that starts the shim, in the user's own file.
type Choice struct {
	Client string `json:"client"`
	// Project is the absolute path of the directory whose project file is meant; "" for the
	// user's file.
	Project string `json:"project,omitempty"`
	// Servers gives each server an entry of its own, under the name that the client knows. If
	// empty, one entry provides all servers.
	Servers []ServerEntry `json:"servers,omitempty"`
	// HTTP writes a URL instead of a program; nothing then starts Drawbridge when the client
	// needs it. URL is the daemon's base URL without a trailing slash.
	HTTP bool   `json:"http,omitempty"`
	URL  string `json:"url,omitempty"`
	// ByVariable writes a reference to TokenVar instead of the token.
	ByVariable bool `json:"byVariable,omitempty"`
	// Token is the client's token. It is required for HTTP and never stored.
	Token string `json:"-"`
}

// ServerEntry is one server with an entry of its own.
type ServerEntry struct {
	Name   string `json:"name"`   // name of the entry, as the client's permission rules refer to it
	Server string `json:"server"` // id of the server in our configuration
	// Scope is the project whose section of the user's file contains the entry; "" for all
	// projects. Only Claude Code has such sections.
	Scope string `json:"scope,omitempty"`
}

// Key returns the key of one connection: the client's id, followed by a hash of the project.
func Key(client, project string) string {
	if project == "" {
		return client
	}
	sum := sha256.Sum256([]byte(project))
	return client + "@" + hex.EncodeToString(sum[:4])
}

// edit sets one entry to value, or removes it if value is nil.
type edit struct {
	path  []string
	name  string
	value json.RawMessage
}

// buildEdits returns the edits that the choice needs.
func (c *Connector) buildEdits(client Client, choice Choice, file string) ([]edit, error) {
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
				Message: "the token cannot be written to this file, which may leave this machine, and " + client.Name + " cannot read a token from a variable",
				Hint:    "Nothing was changed. Connect without --http: the shim keeps the token out of the file.",
			}
		}
	}
	if token == "" {
		return nil, errors.New("an entry with a URL requires the client's token")
	}
	return json.RawMessage(strings.NewReplacer(
		`{{URL}}`, jsonStringContent(address), `{{TOKEN}}`, jsonStringContent(token), `{{NAME}}`, jsonStringContent(s.Name),
	).Replace(string(client.HTTP))), nil
}

// jsonStringContent returns s as the content of a JSON string, without the quotes.
func jsonStringContent(s string) string {
	quoted := jsonString(s)
	return quoted[1 : len(quoted)-1]
}

// variableReference returns the reference to a variable in a form that the client expands, or "" if
// it expands none.
func variableReference(client Client, name string) string {
	for _, form := range client.Vars {
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

var bridgePath = lazyregexp.New(`^/(mcp|[sp]/[^/]+/mcp)$`)

// isOurAddress reports whether an entry has the URL of a Drawbridge bridge: on this machine,
// with one of our paths, and with one of our tokens or a reference to TokenVar.
func isOurAddress(entry json.RawMessage) bool {
	var m map[string]any
	if json.Unmarshal(entry, &m) != nil {
		return false
	}
	address := firstString(m, "url", "httpUrl", "serverUrl", "uri", "baseUrl")
	u, err := url.Parse(address)
	if err != nil || !slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, u.Hostname()) || !bridgePath().MatchString(u.Path) {
		return false
	}
	text := string(entry)
	return strings.Contains(text, "Bearer dbr_") || strings.Contains(text, TokenVar)
}

func firstString(m map[string]any, keys ...string) string {
	for _, key := range keys {
		if s, ok := m[key].(string); ok && s != "" {
			return s
		}
	}
	return ""
}
