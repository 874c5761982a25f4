package config

import (
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Config is one valid configuration. It is immutable once returned.
type Config struct {
	// Servers are in the order of the files; ids are unique ignoring case.
	Servers []Server
	Bridge  Bridge
	History History
	Metrics Metrics
	Desktop Desktop
	Global  Global
	Policy  Policy
	// Profiles are named views over servers and tools, in the order of the files.
	Profiles []Profile
	// Clients are what single clients see, by the name of their token.
	Clients map[string]Client
	// DirectoryURL is the registry that the list of servers is refreshed from; "" is the official one.
	DirectoryURL string
	// MCPEnabled is false for {"mcp": {"enabled": false}}: Servers is then empty.
	MCPEnabled bool
	// Problems holds the warnings, and the errors of servers that were left out.
	Problems []Problem
	// Files are the paths that were read, in order.
	Files []string
	// Locked says why the servers cannot be edited ("DRAWBRIDGE_MCP_SERVERS is set"), or is "".
	Locked string
	// FilesIgnored says that the files hold mistakes and Locked servers stand without
	// them: everything but Servers is a default, and says nothing of what the user wants.
	FilesIgnored bool
	// ReachUnknown says why it is not known what clients may use, or is "". Nobody may
	// use anything then: the files that cannot be read may bind clients to profiles.
	ReachUnknown string

	texts []text // what was read, for the last good copy
}

// Global holds the defaults that apply to every server that does not set its own.
type Global struct {
	RequestTimeout time.Duration // globalSettings.timeout
	Debug          bool          // globalSettings.debug
	// LoginShellTimeout is globalSettings.loginShellTimeoutMs: how long the login shell may
	// take to tell its environment.
	LoginShellTimeout time.Duration
	// ApproveNewCommands is globalSettings.approveNewCommands: a command that is new
	// or was changed waits for approval.
	ApproveNewCommands bool
}

// Server is one entry of the server map. Strings are as written: ${VAR} is
// expanded at use (Expand), never stored expanded. Durations are filled in.
type Server struct {
	ID    string   // the label as a slug: names the server everywhere
	Label string   // the name as written
	Tags  []string // words of the user's, to find servers by
	Type  core.Transport

	// Command is for stdio and docker. With http and sse it is the program that serves
	// URL: it is started first. With a docker image "" is the image's own program.
	Command    string
	Args       []string          // of Command
	Env        map[string]string // of Command
	InheritEnv []string          // names of variables to pass on from our own environment
	Cwd        string            // of Command; docker uses Docker.Workdir

	URL     string            // http and sse
	Headers map[string]string // http and sse
	OAuth   OAuth             // http and sse

	Docker Docker // docker

	Disabled bool
	// AllowInsecure lets plain http leave this machine.
	AllowInsecure bool
	Trust         bool // the user trusts this server's own annotations
	Debug         bool

	Session   string // SessionShared, SessionPerClient, SessionPerSession, SessionPerRoot or, docker only, SessionPerCall
	Start     string // StartAuto, StartOnDemand or StartManual
	Namespace string // replaces ID as the prefix of public names; "" means ID
	Framing   string // FramingAuto, FramingNDJSON or FramingContentLength
	Record    string // RecordFull, RecordMeta or RecordOff
	// ValidateOutput is ValidateOff, ValidateWarn or ValidateError.
	ValidateOutput string
	// ToolChanges is ToolChangesAsk, ToolChangesAccept or ToolChangesBlock.
	ToolChanges string

	StartupTimeout time.Duration // until initialized and listed
	RequestTimeout time.Duration // of one call, starting again with each progress
	MaxRequest     time.Duration // of one call in all, however much progress there is
	IdleStop       time.Duration // without a call, after which the process ends; 0 never
	CatalogRefresh time.Duration // between readings of lists whose changes the server does not announce; 0 never
	Heartbeat      time.Duration // between pings; 0 switches them off
	Stale          time.Duration // silence after which a server counts as gone; 0 never
	Restart        Restart

	Filter *Filter // which tools clients see, and what is said of single ones; nil is all, as they are
	Rules  Rules   // what its calls are held to
	// HonorTTL keeps what a modern server's resources say for as long as it allows.
	HonorTTL bool

	Source Position // of the server's name in its file

	keys map[string]Position // of the server's keys, for problems found later
}

// How a server is started.
const (
	StartAuto     = "auto"     // with Drawbridge
	StartOnDemand = "onDemand" // by the first call or list that needs it
	StartManual   = "manual"   // by the user
)

// What happens to a tool whose definition is not the one that was trusted.
const (
	ToolChangesAsk    = "ask"    // clients do not see it until the user accepts it
	ToolChangesAccept = "accept" // clients see it; the change is noted
	ToolChangesBlock  = "block"  // clients do not see it, and nobody is asked
)

// What happens to a command that is new or was changed.
const (
	ApproveOff = "off" // it is run
	ApproveAsk = "ask" // it waits for approval
)

// Who shares one process of a server.
const (
	SessionShared     = "shared"     // everybody
	SessionPerClient  = "perClient"  // the calls of one client application
	SessionPerSession = "perSession" // those of one session, or of one shim
	SessionPerRoot    = "perRoot"    // those that come from one folder
	SessionPerCall    = "perCall"    // nobody: each call has its own, docker only
)

// WorkspaceFolder is the variable that stands for the folder a client works in.
const WorkspaceFolder = "workspaceFolder"

// How messages are framed on stdout.
const (
	FramingAuto          = "auto"
	FramingNDJSON        = "ndjson"
	FramingContentLength = "content-length"
)

// What is recorded of a server's calls, unless the user has decided on less.
const (
	RecordFull = "full"
	RecordMeta = "meta" // all but arguments, results and the sentences of errors
	RecordOff  = "off"
)

// How a result is marked that does not fit its tool's outputSchema. Calls never wait
// for it, and the client gets what the server said.
const (
	ValidateOff   = "off"
	ValidateWarn  = "warn"
	ValidateError = "error"
)

// Restart says what happens when a server ends by itself.
type Restart struct {
	// MaxAttempts is how many starts in a row may end badly, the first included; then
	// we give up. 0 and 1 never restart. A healthy minute begins the count anew. The default
	// gives five starts: at once, at once, and after pauses of 1, 2 and 4 s.
	MaxAttempts int
	Backoff     time.Duration // before the second restart; the first comes at once
	MaxBackoff  time.Duration
	Strategy    string // RestartExponential or RestartFixed
}

// How the pause between restarts grows.
const (
	RestartExponential = "exponential"
	RestartFixed       = "fixed"
)

// Bridge is how clients reach us.
type Bridge struct {
	Listen       string // host:port, a loopback address
	RequireToken bool
	AllowedHosts []string      // further values of the Host header to accept
	ListWait     time.Duration // how long a list waits for servers that are starting
	Naming       string        // one of Namings
	// DescribeServer says where tools of the address for all servers name their own:
	// one of Describes.
	DescribeServer string
	SelfTools      bool // offer Drawbridge's own tools at the address for all servers
	// HistoryFor are the clients, by the names of their tokens, that may search the calls
	// of all clients with Drawbridge's own tools. Others see their own.
	HistoryFor []string
	// Socket opens a Unix socket in the data folder besides, for shim and CLI.
	Socket bool
}

// Describes are the places for a server's name: nowhere, a tool's title, or its
// description.
var Describes = []string{"off", "title", "description"}

// Namings are the ways to make a public tool name from server and tool.
var Namings = []string{
	"{server}__{tool}",
	"{tool}",
	"{server}:{tool}",
	"{server}::{tool}",
	"{tool}@{server}",
	"mcp_{server}_{tool}",
}

// History is what the call log keeps.
type History struct {
	Enabled bool
	KeepFor time.Duration // calls older than this go; 0 keeps them
	// MaxBytes is the size of the database at which the oldest calls go; 0 means no limit.
	MaxBytes int64
	// MaxPayload is how many bytes of arguments, result and error are kept of one call, each.
	MaxPayload int
	// Redact are regular expressions (RE2): what they match is never kept.
	Redact []string
	// DebugClients are names of applications, or of tokens, whose messages are kept in
	// memory for the timeline of a session.
	DebugClients []string
}

// KeepsLess reports whether calls may go that was keeps.
func (h History) KeepsLess(was History) bool {
	return narrower(h.KeepFor, was.KeepFor) || narrower(h.MaxBytes, was.MaxBytes)
}

// narrower compares two bounds; 0 is none.
func narrower[N ~int64](next, was N) bool { return next > 0 && (was == 0 || next < was) }

// Desktop says what Drawbridge does on the user's desktop.
type Desktop struct {
	Notifications bool // of what waits for the user; true by default
}

// Metrics says who may read /metrics, and where they are sent. The zero value is nobody
// and nowhere.
type Metrics struct {
	Enabled bool
	Public  bool // without the admin token, by every program of this machine
	OTLP    OTLP
}

// OTLP says where traces and metrics are sent by OTLP over HTTP.
type OTLP struct {
	Endpoint string            // http(s)://host:port; /v1/traces and /v1/metrics are added; "" sends nothing
	Headers  map[string]string // as written: ${VAR} is expanded at use
	Traces   bool
	Metrics  bool
	Interval time.Duration // between two sendings of metrics
}

// Defaults. A server's own value wins over globalSettings, that over these.
const (
	DefaultListen         = "127.0.0.1:7575"
	DefaultListWait       = 10 * time.Second
	DefaultStartupTimeout = 120 * time.Second
	DefaultRequestTimeout = 30 * time.Second
	DefaultHeartbeat      = 30 * time.Second
	DefaultStale          = 90 * time.Second
	DefaultMaxAttempts    = 5
	DefaultBackoff        = time.Second
	DefaultMaxBackoff     = 60 * time.Second
	DefaultMaxRequest     = 10 * time.Minute
	DefaultIdleStop       = 10 * time.Minute // of servers that start on demand, or not for everybody
	DefaultCatalogRefresh = 10 * time.Minute
	DefaultKeepFor        = 30 * 24 * time.Hour
	DefaultMaxBytes       = 1_000_000_000
	DefaultMaxPayload     = 64 << 10
	DefaultOTLPInterval   = 60 * time.Second
)

// Default is the configuration of an empty file: no servers, everything else set.
func Default() *Config {
	return &Config{
		MCPEnabled: true,
		Global:     Global{RequestTimeout: DefaultRequestTimeout, LoginShellTimeout: 10 * time.Second},
		Policy:     Policy{Rules: DefaultRules()},
		Bridge: Bridge{
			Listen:       DefaultListen,
			RequireToken: true,
			ListWait:     DefaultListWait,
			Naming:       Namings[0],

			DescribeServer: "title",
		},
		History: History{
			Enabled:    true,
			KeepFor:    DefaultKeepFor,
			MaxBytes:   DefaultMaxBytes,
			MaxPayload: DefaultMaxPayload,
		},
		Metrics: Metrics{OTLP: OTLP{Traces: true, Metrics: true, Interval: DefaultOTLPInterval}},
		Desktop: Desktop{Notifications: true},
	}
}

// Server returns the server called id, ignoring case as ids are unique that way.
func (c *Config) Server(id string) (Server, bool) {
	for _, s := range c.Servers {
		if strings.EqualFold(s.ID, id) {
			return s, true
		}
	}
	return Server{}, false
}

// UsesWorkspace reports whether the server depends on the folder that its client
// works in.
func (s *Server) UsesWorkspace() bool {
	uses := func(value string) bool { return strings.Contains(value, "${"+WorkspaceFolder) }
	if uses(s.Cwd) || uses(s.Command) || slices.ContainsFunc(s.Args, uses) {
		return true
	}
	for _, value := range s.Env {
		if uses(value) {
			return true
		}
	}
	return false
}

// Broken reports whether a server was left out or a file was refused: there is
// an error among the problems, not only warnings.
func (c *Config) Broken() bool { return HasErrors(c.Problems) }
