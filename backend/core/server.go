package core

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// Kind is one of the four kinds of catalog items.
type Kind string

const (
	Tools     Kind = "tools"
	Prompts   Kind = "prompts"
	Resources Kind = "resources"
	Templates Kind = "resourceTemplates"
)

// Item is one entry of a catalog. Raw is the unchanged JSON of the server.
type Item struct {
	Name string // name of a tool, prompt or template; URI of a resource; uriTemplate of a template
	Raw  json.RawMessage
}

// Catalog is what a server offers. It is immutable.
type Catalog struct {
	Tools, Prompts, Resources, Templates []Item
	Capabilities                         json.RawMessage // as the server declared them
	ModernCapabilities                   json.RawMessage // of a second connection in the modern era; nil if there was none
	Instructions                         string
	Info                                 json.RawMessage // serverInfo
	ListedAt                             time.Time
	Warnings                             []string
}

// CapabilitiesIn returns the capabilities of the server in an era.
func (c *Catalog) CapabilitiesIn(era Era) json.RawMessage {
	if era == Modern && len(c.ModernCapabilities) > 0 {
		return c.ModernCapabilities
	}
	return c.Capabilities
}

// Transport is how Drawbridge communicates with a server.
type Transport string

const (
	Stdio  Transport = "stdio"  // a local process
	Docker Transport = "docker" // a process inside a container, started by docker exec
	HTTP   Transport = "http"   // streamable HTTP
	SSE    Transport = "sse"    // legacy HTTP+SSE
	Replay Transport = "replay" // recorded calls
)

// State is the state of a server, as programs read it; its values are stable. All views show the
// same word for it: see Word.
type State string

const (
	StateStopped       State = "stopped"
	StateStarting      State = "starting"
	StateRunning       State = "running"  // initialized, and its catalog is known
	StateDegraded      State = "degraded" // running, with a limitation that Reason describes
	StateWaiting       State = "waiting"  // for Docker, a container, or an unreachable remote server
	StateRestarting    State = "backoff"  // waits before a restart
	StateFailed        State = "crashed"  // restarts have stopped; the user or a call starts it again
	StateNeedsSignIn   State = "needs-login"
	StateNeedsApproval State = "needs-approval"
	StatePaused        State = "paused" // stopped with all other servers until the user resumes them
	StateDisabled      State = "disabled"
)

// Word returns the word for the state in the page, the command line, the tray and the documentation,
// such as "Running" or "Needs sign-in".
func (s State) Word() string {
	switch s {
	case "":
		return ""
	case StateRestarting:
		return "Restarting"
	case StateFailed:
		return "Failed"
	case StateNeedsSignIn:
		return "Needs sign-in"
	case StateNeedsApproval:
		return "Needs approval"
	}
	return strings.ToUpper(string(s[:1])) + string(s[1:])
}

// LoginState is the sign-in state of a remote server.
type LoginState string

const (
	LoginNone            LoginState = ""       // not known to require a sign-in
	LoginNeeded          LoginState = "needed" // unusable until the user signs in
	LoginMorePermissions LoginState = "more"   // usable, but requires a permission that needs a new sign-in
	LoginDone            LoginState = "done"   // the user has signed in
)

// ServerStatus is a snapshot of the status of one server.
type ServerStatus struct {
	ID         string          `json:"id"`
	Label      string          `json:"label"`          // the name in the configuration
	Tags       []string        `json:"tags,omitempty"` // chosen by the user
	Transport  Transport       `json:"transport"`
	State      State           `json:"state"`
	Reason     string          `json:"reason"`           // one sentence, or ""
	Hint       string          `json:"hint,omitempty"`   // what to do about Reason; "" if only the log can help
	Remedy     Remedy          `json:"remedy,omitzero"`  // what to do about Reason, for programs
	Detail     string          `json:"detail,omitempty"` // the last line of stderr during a start; after a crash, the line that explains it
	Since      time.Time       `json:"since"`            // when the server entered State
	Updated    time.Time       `json:"updated"`          // the last list, call or heartbeat
	Era        Era             `json:"era,omitempty"`
	Version    string          `json:"protocolVersion,omitempty"`
	Info       json.RawMessage `json:"serverInfo,omitempty"` // as the server sent it
	PID        int             `json:"pid,omitempty"`
	Tools      int             `json:"tools"`
	Prompts    int             `json:"prompts"`
	Resources  int             `json:"resources"`
	Templates  int             `json:"templates"`
	Warnings   []string        `json:"warnings,omitempty"` // "8 of 9 tools: ..."
	Restarts   int             `json:"restarts"`
	InFlight   int             `json:"inFlight"`
	Command    string          `json:"command,omitempty"` // the resolved command line, without environment
	ExitCode   *int            `json:"exitCode,omitempty"`
	Stderr     []string        `json:"stderr,omitempty"`    // the last lines after a crash, redacted
	Instances  []Instance      `json:"instances,omitempty"` // processes of single clients, sessions or folders
	Login      LoginState      `json:"login,omitempty"`     // of a remote server
	Sandbox    string          `json:"sandbox,omitempty"`   // "on"; "" is off
	ManualOnly bool            `json:"-"`                   // stopped, and a call does not start it
}

// Instance is a process of a server that serves only one client, session or folder.
type Instance struct {
	Name      string    `json:"name"` // the client, session or folder, for the user
	Workspace string    `json:"workspace,omitempty"`
	Account   string    `json:"account,omitempty"`
	State     State     `json:"state"`
	Reason    string    `json:"reason"`
	Since     time.Time `json:"since"`
	PID       int       `json:"pid,omitempty"`
	InFlight  int       `json:"inFlight"`
}

// MaxServerID is the maximum length of a server id or namespace.
const MaxServerID = 32

var serverID = regexp.MustCompile(`^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$`)

// ValidServerID reports whether id is a valid server id: letters and digits, with single '_' or '-'
// between them, at most MaxServerID bytes. Because "__" cannot occur in an id, a public name
// "server__tool" can be split in one way only.
func ValidServerID(id string) bool {
	return len(id) <= MaxServerID && serverID.MatchString(id)
}

// Slug derives a server id from a label. Different labels may have the same slug, which the
// configuration rejects. The result is empty if no character of label is usable.
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

// ServerIdentity is the id of a server and the label that is shown to the user.
type ServerIdentity struct{ ID, Label string }

// FindServer returns the id of the server that text refers to: the one with exactly this id, else
// the only one with exactly this label, else the only one whose id or label equals text
// case-insensitively. It returns "" if there is none, and an error that lists the ids if there are
// several.
func FindServer(servers []ServerIdentity, text string) (string, error) {
	tests := []func(ServerIdentity) bool{
		func(s ServerIdentity) bool { return s.ID == text },
		func(s ServerIdentity) bool { return s.Label == text },
		func(s ServerIdentity) bool { return strings.EqualFold(s.ID, text) || strings.EqualFold(s.Label, text) },
	}
	for _, fits := range tests {
		var found []string
		for _, s := range servers {
			if fits(s) {
				found = append(found, s.ID)
			}
		}
		if len(found) > 1 {
			return "", &Error{Code: CodeValidation, Message: "several servers have this name", Hint: "Use an id: " + strings.Join(found, ", ") + "."}
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	return "", nil
}
