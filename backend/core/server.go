package core

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// Transport is how we talk to a server.
type Transport string

const (
	Stdio  Transport = "stdio"  // a local process
	Docker Transport = "docker" // a process inside a container, by exec
	HTTP   Transport = "http"   // streamable HTTP
	SSE    Transport = "sse"    // legacy HTTP+SSE
)

// State is a server's state in words that the user can read.
type State string

const (
	StateStopped       State = "stopped"
	StateStarting      State = "starting"
	StateRunning       State = "running"  // initialized and listed, not merely started
	StateDegraded      State = "degraded" // answers, but something is missing; the reason says what
	StateWaiting       State = "waiting"  // for Docker, a container, or a remote server that cannot be reached
	StateBackoff       State = "backoff"  // will be restarted
	StateCrashed       State = "crashed"  // gave up; the user or a new call starts it again
	StateNeedsLogin    State = "needs-login"
	StateNeedsApproval State = "needs-approval"
	StateDisabled      State = "disabled"
)

// Login says how it stands with signing in to a remote server.
type Login string

const (
	LoginNone   Login = ""       // nothing is known of any: most servers want none
	LoginNeeded Login = "needed" // it answers nothing until the user signs in
	LoginMore   Login = "more"   // it works, and wants a permission that only a new sign-in gives
	LoginDone   Login = "done"   // the user has signed in
)

// ServerStatus is what is known of one server at one moment. It is a value:
// whoever holds one holds a snapshot.
type ServerStatus struct {
	ID        string          `json:"id"`
	Label     string          `json:"label"`          // the name as written in the config
	Tags      []string        `json:"tags,omitempty"` // the user's words
	Transport Transport       `json:"transport"`
	State     State           `json:"state"`
	Reason    string          `json:"reason"`           // one sentence; empty when there is nothing to say
	Hint      string          `json:"hint,omitempty"`   // what to do about Reason, where more is known than that its log helps
	Detail    string          `json:"detail,omitempty"` // the last stderr line while starting; after a crash the one that explains it
	Since     time.Time       `json:"since"`            // when State was entered
	Updated   time.Time       `json:"updated"`          // when the server was last heard of: a list, a call or a heartbeat
	Era       Era             `json:"era,omitempty"`
	Version   string          `json:"protocolVersion,omitempty"`
	Info      json.RawMessage `json:"serverInfo,omitempty"` // as the server sent it
	PID       int             `json:"pid,omitempty"`
	Tools     int             `json:"tools"`
	Prompts   int             `json:"prompts"`
	Resources int             `json:"resources"`
	Templates int             `json:"templates"`
	Warnings  []string        `json:"warnings,omitempty"` // "8 of 9 tools: ..."
	Restarts  int             `json:"restarts"`
	InFlight  int             `json:"inFlight"`
	Command   string          `json:"command,omitempty"` // what was started, resolved, without environment
	ExitCode  *int            `json:"exitCode,omitempty"`
	Stderr    []string        `json:"stderr,omitempty"`    // the last lines after a crash, safe to show
	Instances []Instance      `json:"instances,omitempty"` // those of single clients, sessions or folders
	Login     Login           `json:"login,omitempty"`     // of a remote server
	ByHand    bool            `json:"-"`                   // it is stopped, and a call does not start it
}

// Instance is a process of a server that belongs to one client, session or folder.
type Instance struct {
	Name      string    `json:"name"` // whose it is, for people
	Workspace string    `json:"workspace,omitempty"`
	State     State     `json:"state"`
	Reason    string    `json:"reason"`
	Since     time.Time `json:"since"`
	PID       int       `json:"pid,omitempty"`
	InFlight  int       `json:"inFlight"`
}

// Kind is one of the four things a server can offer.
type Kind string

const (
	Tools     Kind = "tools"
	Prompts   Kind = "prompts"
	Resources Kind = "resources"
	Templates Kind = "resourceTemplates"
)

// Item is one entry of a catalog. Raw is the server's own JSON, untouched.
type Item struct {
	Name string // name of a tool, prompt or template; URI of a resource; uriTemplate of a template
	Raw  json.RawMessage
}

// Catalog is what a server offers. It is immutable: a new list makes a new Catalog.
type Catalog struct {
	Tools, Prompts, Resources, Templates []Item
	Capabilities                         json.RawMessage // as the server declared them
	Instructions                         string
	Info                                 json.RawMessage // serverInfo
	ListedAt                             time.Time
	Warnings                             []string
}

// MaxServerID is the longest server id or namespace.
const MaxServerID = 32

var serverID = regexp.MustCompile(`^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$`)

// ValidServerID reports whether id can name a server: letters, digits, single
// inner '_' and '-', at most MaxServerID bytes. "__" cannot occur, so that a
// public name "server__tool" splits in one way only.
func ValidServerID(id string) bool {
	return len(id) <= MaxServerID && serverID.MatchString(id)
}

// Slug turns a label into a server id. Different labels may give the same slug;
// the config refuses that. An empty result means that nothing of label can be used.
func Slug(label string) string {
	var b strings.Builder
	gap := byte(0)
	for i := 0; i < len(label) && b.Len() < MaxServerID; i++ {
		c := label[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			if gap != 0 && b.Len() > 0 {
				if b.Len()+2 > MaxServerID {
					return b.String()
				}
				b.WriteByte(gap)
			}
			gap = 0
			b.WriteByte(c)
		case c == '_' && gap == 0:
			gap = '_'
		default:
			gap = '-'
		}
	}
	return b.String()
}
