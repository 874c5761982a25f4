package clientconf

import (
	_ "embed"
	"encoding/json"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Client describes one MCP client application. It is a row of clients.json and must not be
// modified.
type Client struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Confidence is the source of the facts: M measured with the program itself, S read in
	// its source code, D taken from its documentation, T reported by third parties, L
	// unverified.
	Confidence string `json:"confidence"`
	Format     Format `json:"format"`
	// TrailingCommas is set if the client's parser accepts a comma after the last element.
	TrailingCommas bool `json:"trailingCommas"`
	// KeyPath is the path of keys from the root of the file to the container of servers.
	KeyPath []string `json:"keyPath"`
	// ContainerKind is "list" if the servers are a list of entries that carry their name, else
	// "".
	ContainerKind string `json:"container"`
	// Binaries are the program names to look up on PATH.
	Binaries []string `json:"binaries"`
	// DetectFile is set if the folder of the file is no sign that the client is installed, because
	// another client has its file there as well.
	DetectFile bool `json:"detectFile"`
	// Candidates are the possible locations of the file, by GOOS, and the further files of a project
	// (relative paths) under "project".
	Candidates map[string][]Candidate `json:"candidates"`
	// Stdio and HTTP are the templates of an entry. HTTP is nil if the client supports stdio
	// only.
	Stdio json.RawMessage `json:"stdio"`
	HTTP  json.RawMessage `json:"http"`
	// Reload describes how the client picks up a changed file: an instruction, or a text that
	// begins with "nothing to do". See ApplyHint.
	Reload string `json:"reload"`
	// Lock is the lock of the client that is held during a write: "mkdir" (the directory
	// FILE.lock) or "flock" (on .mcp-writer.lock in the same directory). "" means none.
	Lock string `json:"lock"`
	// Rewrites is set if the running client rewrites the whole file from memory.
	Rewrites bool `json:"rewrites"`
	// VariableForms are the supported forms of a reference to an environment variable in an entry:
	// "${}", "$", "${env:}", "{env:}", and "${input:}", which prompts the user.
	VariableForms []string `json:"vars"`
	// TimeoutUnit is the unit of the entry's field timeout: "s", or "" for milliseconds.
	TimeoutUnit string `json:"timeoutUnit"`
	// ProjectFile is the path of the per-project file, relative to the project directory; "" if
	// the client has none.
	ProjectFile string `json:"project"`
	// Synced is set if the client syncs its file to the user's other machines.
	Synced bool `json:"synced"`
	// MaxTools is the maximum number of tools that the client offers to its model; 0 if no
	// limit is known.
	MaxTools int `json:"maxTools"`
	// MaxToolName is the maximum length of a tool name that Drawbridge offers: the client's own
	// limit minus the name of our entry. 0 means the default of 46.
	MaxToolName int `json:"maxName"`
	// MaxPrefixedName is the maximum length of a tool name including the prefix that the client
	// adds (NamePrefix, where {entry} is the name of the entry); 0 if no limit is known.
	MaxPrefixedName int    `json:"wholeName"`
	NamePrefix      string `json:"namePrefix"`
	// InitialContent is the initial content of a new file.
	InitialContent string `json:"header"`
}

// Format is the syntax of a client's file.
type Format string

const (
	JSON  Format = "json"  // strict: no comments
	JSONC Format = "jsonc" // with comments
	TOML  Format = "toml"
	YAML  Format = "yaml"
)

// Candidate is one possible location of a client's file. Path uses forward slashes and the
// tokens {HOME}, {XDG_CONFIG_HOME}, {XDG_DATA_HOME}, {APPSUPPORT}, {APPDATA}, {LOCALAPPDATA},
// {VSCODE_USER}, {env:NAME} and the wildcard *.
type Candidate struct {
	Path string `json:"path"`
	// Role is env (used whenever its variable is set), primary (created if missing), alt or
	// sandbox (used if it exists), read (the client reads it as well), alone (read in place of the
	// others, by a profile or an agent), or legacy (of an earlier version: only a sign that the client
	// is installed). Only servers that are in a file of read or alone are replaced in it.
	Role string `json:"role"`
}

//go:embed clients.json
var clientsJSON []byte

// Known returns all clients in the order of clients.json. The slice is shared and must not be
// modified.
var Known = sync.OnceValue(func() []Client {
	var clients []Client
	if err := json.Unmarshal(clientsJSON, &clients); err != nil {
		panic(err) // the table is embedded, and a test parses it
	}
	return clients
})

// NameLimit returns the MaxToolName of the client with this id, or 0 if no limit is known.
func NameLimit(id string) int { return nameLimits()[id] }

var nameLimits = sync.OnceValue(func() map[string]int {
	limits := map[string]int{}
	for _, c := range Known() {
		if c.MaxToolName > 0 {
			limits[c.ID] = c.MaxToolName
		}
	}
	return limits
})

// ByID returns the client with this id, or an error with code not_found whose hint names the
// command that lists the clients.
func ByID(id string) (Client, error) {
	for _, c := range Known() {
		if c.ID == id {
			return c, nil
		}
	}
	return Client{}, &core.Error{
		Code:    core.CodeNotFound,
		Message: "there is no client named " + quote(id),
		Hint:    "List them with: drawbridge clients list.",
	}
}

// ReloadsAutomatically reports whether the client picks up a changed file without an action of the
// user.
func (c Client) ReloadsAutomatically() bool { return strings.HasPrefix(c.Reload, noAction) }

const noAction = "nothing to do"

// ApplyHint returns a sentence that tells the user how to make the client read its changed file; ""
// if that is not known.
func (c Client) ApplyHint() string {
	text := strings.TrimSuffix(c.Reload, ".")
	if text == "" {
		return ""
	}
	rest, ok := strings.CutPrefix(text, noAction)
	if !ok {
		return "To apply the change, " + text + "."
	}
	if rest == "" {
		return "No further action is needed."
	}
	if why, ok := strings.CutPrefix(rest, "; "); ok {
		rest = ": " + why
	}
	return "No action is needed" + rest + "."
}
