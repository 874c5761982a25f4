package clientconf

import (
	_ "embed"
	"encoding/json"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Client is what we know of one MCP client application. It is read-only data.
type Client struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Confidence says how we know: M measured on the real program, S read in its
	// source, D its documentation, T told by third parties, L unverified.
	Confidence string `json:"confidence"`
	Format     Format `json:"format"`
	// TrailingCommas is set where the client's parser takes a comma after the last element.
	TrailingCommas bool `json:"trailingCommas"`
	// KeyPath leads to the container of servers.
	KeyPath []string `json:"keyPath"`
	// Container is "list" where servers are a list of entries with a name, else "".
	Container string `json:"container"`
	// Binaries are names to look for on PATH.
	Binaries []string `json:"binaries"`
	// Candidates are the places of the file by GOOS.
	Candidates map[string][]Candidate `json:"candidates"`
	// Stdio and HTTP are the shapes of an entry; HTTP is nil where the client takes stdio only.
	Stdio json.RawMessage `json:"stdio"`
	HTTP  json.RawMessage `json:"http"`
	// Reload tells the user how the client notices the change.
	Reload string `json:"reload"`
	// Lock is the client's own lock that we take while writing: "mkdir" (FILE.lock as
	// a folder) or "flock" (of .mcp-writer.lock beside the file).
	Lock string `json:"lock"`
	// Rewrites marks clients that write the whole file back from memory while they run.
	Rewrites bool `json:"rewrites"`
	// Vars are the forms in which an entry may refer to a variable of the client's
	// environment: "${}", "$", "${env:}", "{env:}", and "${input:}", which asks the user.
	Vars []string `json:"vars"`
	// TimeoutUnit of the entry's field timeout: "s", or "" for milliseconds.
	TimeoutUnit string `json:"timeoutUnit"`
	// Project is the file of a project, relative to its folder; "" where there is none.
	Project string `json:"project"`
	// Synced marks clients that carry their file to the user's other machines.
	Synced bool `json:"synced"`
	// MaxTools is how many tools the client offers its model; 0 where no limit is known.
	MaxTools int `json:"maxTools"`
	// MaxName is how long the name of a tool of ours may be; 0 stands for the usual 46.
	// It is what is left of the client's own limit after the name of our entry.
	MaxName int `json:"maxName"`
	// WholeName is how long the name of a tool may be with what the client puts before it
	// (NamePrefix, where {entry} is the name of the entry); 0 where no limit is known.
	WholeName  int    `json:"wholeName"`
	NamePrefix string `json:"namePrefix"`
	// Header is how a new file begins.
	Header string `json:"header"`
}

// Format is the syntax of a client's file.
type Format string

const (
	JSON  Format = "json"  // strict: a comment would break the client
	JSONC Format = "jsonc" // with comments
	TOML  Format = "toml"
	YAML  Format = "yaml"
)

// Candidate is one place where a client's file may be. Path uses forward slashes
// and the tokens {HOME}, {XDG_CONFIG_HOME}, {XDG_DATA_HOME}, {APPSUPPORT},
// {APPDATA}, {LOCALAPPDATA}, {VSCODE_USER}, {env:NAME} and the wildcard *.
type Candidate struct {
	Path string `json:"path"`
	// Role: env wins when its variable is set, primary is created where missing,
	// alt and sandbox are used when they exist, legacy is only read.
	Role string `json:"role"`
	// Format and KeyPath are those of a legacy place where they differ from the client's.
	Format  Format   `json:"format,omitempty"`
	KeyPath []string `json:"keyPath,omitempty"`
}

//go:embed clients.json
var table []byte

// Known returns every client of the table, in its order. The slice is shared: do not change it.
var Known = sync.OnceValue(func() []Client {
	var clients []Client
	if err := json.Unmarshal(table, &clients); err != nil {
		panic(err) // the table is part of the program; a test reads it
	}
	return clients
})

// NameLimit is the MaxName of the client called id; 0 where nothing is known of it.
func NameLimit(id string) int { return nameLimits()[id] }

var nameLimits = sync.OnceValue(func() map[string]int {
	limits := map[string]int{}
	for _, c := range Known() {
		if c.MaxName > 0 {
			limits[c.ID] = c.MaxName
		}
	}
	return limits
})

// ByID returns the client called id, or an error with code not_found that lists the nearest ids.
func ByID(id string) (Client, error) {
	for _, c := range Known() {
		if c.ID == id {
			return c, nil
		}
	}
	return Client{}, &core.Error{
		Code:    core.CodeNotFound,
		Message: "no client is called " + quote(id),
		Hint:    "List them with: drawbridge clients list.",
	}
}
