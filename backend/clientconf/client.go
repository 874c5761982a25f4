package clientconf

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
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
	// Limits are what the client does with what servers say.
	Limits Limits `json:"limits"`
	// Gateway is set for another gateway; see Sources.
	Gateway *Gateway `json:"gateway"`
	// SwitchOff says how the user switches off what the client starts itself, for a source.
	SwitchOff string `json:"off"`
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
	// Database is an SQLite database, of a source only.
	Database Format = "database"
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

// Limits are what a client cuts or drops without telling anybody, in characters (UTF-16 code units);
// 0 means that no limit is known.
type Limits struct {
	Instructions int `json:"instructions"` // of a server
	Description  int `json:"description"`  // of a tool
	// PinKey is the _meta key of the tools that a client with a tool search loads at once, and
	// PinnedDescription the limit of their descriptions.
	PinKey            string `json:"pinKey"`
	PinnedDescription int    `json:"pinnedDescription"`
	SearchesItself    bool   `json:"searches"` // it has a tool search
	// Source says how this is known: "measured with VERSION: ..." or "reported: ...".
	Source string `json:"source"`
}

// LimitsOf returns the MaxToolName, the MaxTools and the Limits of the client with this id; 0 and none if
// it is not known.
func LimitsOf(id string) (name, tools int, l Limits) {
	if c := knownByID()[id]; c != nil {
		return c.MaxToolName, c.MaxTools, c.Limits
	}
	return 0, 0, Limits{}
}

// IDOf returns the id of the client whose application calls itself name, such as "codex" for
// "codex-mcp-client"; "" if none is known.
func IDOf(name string) (id string) {
	name = strings.ReplaceAll(strings.ToLower(name), " ", "-") + "-"
	for known := range knownByID() {
		if len(known) > len(id) && strings.HasPrefix(name, known) && name[len(known)] == '-' {
			id = known
		}
	}
	return id
}

// knownByID has pointers, because each request looks its client up.
var knownByID = sync.OnceValue(func() map[string]*Client {
	clients := map[string]*Client{}
	for i, c := range Known() {
		clients[c.ID] = &Known()[i]
	}
	return clients
})

// ByID returns the client with this id, or an error with code not_found whose hint names the
// command that lists the clients.
func ByID(id string) (Client, error) {
	for _, c := range Known() {
		if c.ID == id {
			return c, nil
		}
	}
	return Client{}, unknownClient(id)
}

// Find returns the client with this id or name, ignoring case, blanks and hyphens.
func Find(text string) (Client, error) {
	fold := func(s string) string { return strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(s)) }
	for _, c := range Known() {
		if fold(c.ID) == fold(text) || fold(c.Name) == fold(text) {
			return c, nil
		}
	}
	return Client{}, unknownClient(text)
}

func unknownClient(text string) error {
	if source, ok := findSource(text); ok {
		return &core.Error{Code: core.CodeNotFound, Message: quote(text) + " is not a client, but servers can be imported from it", Hint: "Copy them with: drawbridge clients import " + source.ID}
	}
	var names []string
	for _, c := range Known() {
		names = append(names, c.ID)
	}
	err := &core.Error{Code: core.CodeNotFound, Message: "there is no client named " + quote(text), Hint: "List them with: drawbridge clients --all"}
	if near := config.Nearest(text, names); near != "" {
		err.Message += "; did you mean " + quote(near) + "?"
	}
	return err
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

// OfferedTool is one tool as a client would see it.
type OfferedTool struct {
	Entry string // the entry through which it is offered: EntryName, or the name of a single-server entry
	Name  string
	// Description is the length of its description in characters.
	Description int
}

// LimitWarnings returns a sentence for each limit of the client that is exceeded by the tools or the
// merged instructions, with what Drawbridge does about it or what the user can do.
func LimitWarnings(client Client, tools []OfferedTool, instructions int) (all []string) {
	if client.MaxTools > 0 && len(tools) > client.MaxTools {
		all = append(all, fmt.Sprintf("%s supports at most %d tools, but would be offered %d. Give it a profile with fewer tools, or list them by search (drawbridge profiles use %s --mode search).", client.Name, client.MaxTools, len(tools), client.ID))
	}
	var long []string
	shortened, unchanged := 0, 0
	for _, t := range tools {
		if client.MaxPrefixedName > 0 && len(strings.ReplaceAll(client.NamePrefix, "{entry}", t.Entry))+len(t.Name) > client.MaxPrefixedName {
			long = append(long, t.Name)
		}
		switch limit := client.Limits.Description; {
		case limit == 0 || t.Description <= limit:
		case t.Entry == EntryName:
			shortened++
		default:
			unchanged++
		}
	}
	if n := len(long); n > 0 {
		shown := strings.Join(long[:min(n, 3)], ", ")
		if n > 3 {
			shown += fmt.Sprintf(" and %d more", n-3)
		}
		all = append(all, fmt.Sprintf("%s supports tool names of at most %d characters, including its own prefix. Too long: %s.", client.Name, client.MaxPrefixedName, shown))
	}
	over := func(n int) string {
		return fmt.Sprintf("%d of %s: description over %d characters, which %s cuts or drops. ", n, core.Plural(len(tools), "tool"), client.Limits.Description, client.Name)
	}
	if shortened > 0 {
		all = append(all, over(shortened)+"Drawbridge shortens it; the model reads the rest with drawbridge__read_more.")
	}
	if unchanged > 0 {
		all = append(all, over(unchanged)+"To have it shortened, undo the move and repeat it with one entry for all servers: drawbridge clients move "+client.ID+" --single-entry.")
	}
	if limit := client.Limits.Instructions; limit > 0 && instructions > limit {
		all = append(all, fmt.Sprintf("The instructions of the servers have %d characters, of which %s reads %d. The servers share them; the model reads the rest with drawbridge__read_more.", instructions, client.Name, limit))
	}
	return all
}

// Options configures a Connector.
type Options struct {
	System System
	// Dir holds records and backups. It is created when needed.
	Dir string
	// Program is the absolute path of the drawbridge binary, for the shim entry.
	Program string
	// Data is the data directory to name in the entry; "" for the default one.
	Data string
	// Config is our own configuration file, which moves and imports write; "" disables both.
	Config string
	// Vault stores the literal secrets of imported servers. If nil, they stay in their
	// entries.
	Vault Vault
	Now   func() time.Time // nil: time.Now
}

// Connector plans, writes and undoes our entries in client files. Its methods may be called
// from any goroutine, but not concurrently for the same client.
type Connector struct {
	recordFolder
	system  System
	program string
	data    string
	config  string
	vault   Vault
	// Sync returns when a running daemon uses our configuration as it is now, or says why it does not;
	// nil: there is no daemon. It is called after each write, and before the client's file refers to what
	// was written. confirm is as for config.Reloader.Sync.
	Sync          func(ctx context.Context, confirm string) error
	plannedFrom   map[string]string // the clients whose plans precede, by the labels of the servers that they add
	plannedConfig []byte            // our configuration as preceding plans will leave it; nil: read the file
}

// recordFolder keeps a record and a backup of each file that was changed.
type recordFolder struct {
	dir string
	now func() time.Time
}

// New validates the options. It does not access any file.
func New(o Options) (*Connector, error) {
	if o.Dir == "" || o.Program == "" || o.System.Home == "" || o.System.Getenv == nil {
		return nil, errors.New("clientconf needs a folder, a program, a home and an environment")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Connector{recordFolder: recordFolder{o.Dir, o.Now}, system: o.System, program: o.Program, data: o.Data, config: o.Config, vault: o.Vault}, nil
}

// NewDefault returns a Connector for the user who runs this program. Records are in data/clients,
// and config is our own configuration file. own is set if the data directory was given
// explicitly, so that entries have to name it as well. vault stores the secrets of imported
// servers.
func NewDefault(data string, own bool, config string, vault Vault, getenv func(string) string) (*Connector, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find the drawbridge executable: %w", err)
	}
	home := getenv("HOME")
	if runtime.GOOS == "windows" || home == "" {
		if home, err = os.UserHomeDir(); err != nil {
			return nil, err
		}
	}
	o := Options{
		System:  System{GOOS: runtime.GOOS, Home: home, Getenv: getenv},
		Dir:     filepath.Join(data, "clients"),
		Program: self,
		Config:  config,
		Vault:   vault,
	}
	if own {
		o.Data = data
	}
	return New(o)
}
