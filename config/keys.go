package config

import (
	_ "embed"
	"maps"
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
	Updates Updates
	Desktop Desktop
	Global  Global
	Policy  Policy
	// Profiles are named views over servers and tools, in the order of the files.
	Profiles []Profile
	// Clients holds the settings of single clients, keyed by the name of their token.
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
	// FilesIgnored reports that the files contain errors and that the Locked servers were
	// read without them: every setting except Servers has its default value.
	FilesIgnored bool
	// VisibilityUnknown is the reason why it is unknown what clients may use, or "". While it is
	// set, no client may use anything: the unreadable files may bind clients to profiles.
	VisibilityUnknown string

	texts []text // the source texts, for the last good copy
}

// Global holds the defaults that apply to every server that does not set its own.
type Global struct {
	RequestTimeout time.Duration `key:"timeout"` // globalSettings.timeout
	Debug          bool          `key:"debug"`   // globalSettings.debug
	// LoginShellTimeout is globalSettings.loginShellTimeoutMs, the time limit for reading
	// the environment of the login shell.
	LoginShellTimeout time.Duration `key:"loginShellTimeoutMs"`
	// ApproveNewCommands is globalSettings.approveNewCommands: whether a new or changed
	// command, or one whose sandbox was loosened, needs approval before it runs.
	ApproveNewCommands bool
	Launch             string `key:"launch"` // globalSettings.launch: LaunchDirect or LaunchNpx
}

// Server is one entry of the server map. Strings are as written: ${VAR} is
// expanded at use (Expand), never stored expanded. Durations are filled in.
type Server struct {
	ID    string   // the label as a slug; identifies the server everywhere
	Label string   // the name as written
	Tags  []string `key:"tags"` // chosen by the user, for searching
	Type  core.Transport

	// Command is the program of stdio and docker servers. With http and sse it is the program
	// that serves URL and is started first. With a docker image, "" is the default program of
	// the image.
	Command    string            `key:"command"`
	Args       []string          `key:"args"` // of Command
	Env        map[string]string // of Command
	InheritEnv []string          `key:"inheritEnv"` // names of variables that are inherited from the daemon
	Cwd        string            `key:"cwd"`        // of Command; docker uses Docker.Workdir

	URL     string            `key:"url,http"` // http and sse
	Headers map[string]string // http and sse
	OAuth   OAuth             // http and sse

	// Accounts are further sets of credentials, by name. The server's own are DefaultAccount.
	Accounts map[string]Account
	Account  string // set by WithAccount; "" in a configuration

	Docker Docker // docker

	Sandbox Sandbox // stdio

	Replay Replay // replay

	Disabled bool `key:"disabled"`
	// AllowInsecure permits plain http to other machines.
	AllowInsecure bool `key:"allowInsecure"`
	Trust         bool `key:"trust"` // whether the user trusts the annotations of this server
	Debug         bool `key:"debug"`

	Session   string `key:"session"`      // SessionShared, SessionPerClient, SessionPerSession, SessionPerRoot or, docker only, SessionPerCall
	Start     string `key:"start"`        // StartAuto, StartOnDemand or StartManual
	Namespace string `key:"namespace,id"` // replaces ID as the prefix of public names; "" means ID
	Launch    string `key:"launch"`       // LaunchDirect or LaunchNpx
	Framing   string `key:"framing"`      // FramingAuto, FramingNDJSON or FramingContentLength
	Record    string `key:"record"`       // RecordFull, RecordMeta or RecordOff
	// ValidateOutput is ValidateOff, ValidateWarn or ValidateError.
	ValidateOutput string `key:"validateOutput"`
	// ToolChanges is ToolChangesAsk, ToolChangesAccept or ToolChangesBlock.
	ToolChanges string `key:"toolChanges"`

	StartupTimeout time.Duration `key:"startupTimeoutMs"`    // until initialized and listed
	RequestTimeout time.Duration `key:"requestTimeoutMs"`    // of one call; progress restarts it
	MaxRequest     time.Duration `key:"maxRequestMs"`        // of one call in total, regardless of progress
	IdleStop       time.Duration `key:"idleStopMs"`          // time without a call after which the process is stopped; 0 never
	CatalogRefresh time.Duration `key:"catalogRefreshMs"`    // interval of reading lists whose changes the server does not announce; 0 never
	Heartbeat      time.Duration `key:"heartbeatIntervalMs"` // between pings; 0 switches them off
	Stale          time.Duration `key:"staleTimeoutMs"`      // silence after which a server is treated as dead; 0 never
	Restart        Restart       `key:"restart"`

	Filter *Filter // which tools clients see and how; nil shows all of them unchanged
	Rules  Rules   // the policy of its calls
	// HonorTTL caches resources of a modern server for as long as the server permits.
	HonorTTL bool `key:"honorTtl"`

	Source Position // of the server's name in its file

	keys map[string]Position // of the keys of the server, for problems found later
}

// How a server is started.
const (
	StartAuto     = "auto"     // with Drawbridge
	StartOnDemand = "onDemand" // by the first call or list that needs it
	StartManual   = "manual"   // by the user
)

// Handling of a tool whose definition differs from the trusted one.
const (
	ToolChangesAsk    = "ask"    // clients do not see it until the user accepts it
	ToolChangesAccept = "accept" // clients see it; the change is recorded
	ToolChangesBlock  = "block"  // clients do not see it, and the user is not asked
)

// Handling of a new or changed command.
const (
	ApproveOff = "off" // it runs
	ApproveAsk = "ask" // it waits for approval
)

// Who shares one process of a server.
const (
	SessionShared     = "shared"     // everybody
	SessionPerClient  = "perClient"  // the calls of one client application
	SessionPerSession = "perSession" // the calls of one session, or of one shim
	SessionPerRoot    = "perRoot"    // the calls from one folder
	SessionPerCall    = "perCall"    // nobody: each call has its own process; docker only
)

// WorkspaceFolder is the variable for the folder that a client works in.
const WorkspaceFolder = "workspaceFolder"

// Who starts the program of an npx package.
const (
	LaunchDirect = "direct" // Drawbridge, once npx has started it
	LaunchNpx    = "npx"    // npx, each time
)

// How messages are framed on stdout.
const (
	FramingAuto          = "auto"
	FramingNDJSON        = "ndjson"
	FramingContentLength = "content-length"
)

// What is recorded of the calls of a server. The user may reduce it further.
const (
	RecordFull = "full"
	RecordMeta = "meta" // everything except arguments, results and error texts
	RecordOff  = "off"
)

// Handling of a result that does not match the outputSchema of its tool. Calls never wait for
// the validation, and the client always receives the result from the server.
const (
	ValidateOff   = "off"
	ValidateWarn  = "warn"
	ValidateError = "error"
)

// Restart configures the restarts of a server that exits by itself.
type Restart struct {
	// MaxAttempts is the number of consecutive failed starts, including the first, after which
	// the server is given up. 0 and 1 never restart. A minute without failure resets the count.
	// The default is five starts: two without a delay, then after 1, 2 and 4 s.
	MaxAttempts int           `key:"maxAttempts"`
	Backoff     time.Duration `key:"backoffMs"` // delay before the second restart; the first has none
	MaxBackoff  time.Duration `key:"maxBackoffMs"`
	Strategy    string        `key:"strategy"` // RestartExponential or RestartFixed
}

// Growth of the delay between restarts.
const (
	RestartExponential = "exponential"
	RestartFixed       = "fixed"
)

// Bridge configures the endpoint for clients.
type Bridge struct {
	Listen       string        `key:"listen,loopback"` // host:port, a loopback address
	RequireToken bool          `key:"requireToken"`
	AllowedHosts []string      `key:"allowedHosts"` // further values of the Host header to accept
	ListWait     time.Duration `key:"listWaitMs"`   // how long a list waits for servers that are starting
	Naming       string        `key:"naming"`       // one of Namings
	// DescribeServer says where the shared endpoint names the server of a tool: "off", "title" or
	// "description".
	DescribeServer string `key:"describeServer"`
	SelfTools      bool   `key:"selfTools"` // offer the built-in tools at the shared endpoint
	// HistoryFor lists the clients, by the names of their tokens, that may search the calls of
	// all clients with the built-in tools. Other clients see only their own calls.
	HistoryFor []string `key:"historyFor"`
	// Socket additionally opens a Unix socket in the data folder, for shim and CLI.
	Socket bool `key:"socket"`
}

// Namings lists the schemes of public tool names.
var Namings = []string{
	"{server}__{tool}",
	"{tool}",
	"{server}:{tool}",
	"{server}::{tool}",
	"{tool}@{server}",
	"mcp_{server}_{tool}",
}

// History configures what is recorded and for how long.
type History struct {
	Enabled bool          `key:"enabled"`
	KeepFor time.Duration `key:"keepDays"` // calls older than this are deleted; 0 keeps all
	// MaxBytes is the size of the database beyond which the oldest calls are deleted; 0 means no limit.
	MaxBytes int64 `key:"maxBytes"`
	// MaxPayload is the number of bytes of arguments, result and error that are stored, each.
	MaxPayload int `key:"maxPayloadBytes"`
	// FullSession is the id of a session whose payloads are stored up to 8 MiB each, or "".
	FullSession string `key:"fullSession"`
	// Redact lists regular expressions (RE2) whose matches are never stored.
	Redact []string
	// DebugClients lists the names of applications or tokens whose messages are kept in memory
	// for the timeline of a session.
	DebugClients []string `key:"debugClients"`
}

// Desktop configures the integration with the desktop.
type Desktop struct {
	Notifications bool `key:"notifications"` // about pending approvals and failures; true by default
}

// Metrics configures who may read /metrics and where metrics are sent. The zero value disables
// both.
type Metrics struct {
	Enabled bool `key:"enabled"`
	Public  bool `key:"public"` // readable without the admin token by every program of this machine
	OTLP    OTLP `key:"otlp"`
}

// Updates configures the search for newer versions of Drawbridge, and the restart with an installed one.
type Updates struct {
	Check     bool   `key:"check"`
	URL       string `key:"url,http"`  // of the signed document; "" means the one of this build
	PublicKey string `key:"publicKey"` // of minisign; "" means the one of this build
	// RestartIdle is how long no call may have run before Drawbridge restarts with a version that
	// was installed; 0 means that it does not restart.
	RestartIdle time.Duration `key:"restartIdleMs"`
}

// OTLP configures the export of traces and metrics by OTLP over HTTP.
type OTLP struct {
	Endpoint string            `key:"endpoint,http"` // http(s)://host:port; /v1/traces and /v1/metrics are added; "" disables it
	Headers  map[string]string `key:"headers"`       // as written: ${VAR} is expanded at use
	Traces   bool              `key:"traces"`
	Metrics  bool              `key:"metrics"`
	Interval time.Duration     `key:"intervalMs"` // between two exports of metrics
}

// Defaults that other packages need, too.
const (
	DefaultListWait       = 10 * time.Second
	DefaultStartupTimeout = 120 * time.Second
	DefaultHeartbeat      = 30 * time.Second
	DefaultStale          = 90 * time.Second
	DefaultMaxAttempts    = 5
	DefaultBackoff        = time.Second
	DefaultMaxBackoff     = 60 * time.Second
	DefaultIdleStop       = 10 * time.Minute // of servers that start on demand or are not shared
)

// Default is the configuration of an empty file: no servers, and every setting at its default.
func Default() *Config {
	c := &Config{MCPEnabled: true, Policy: Policy{Rules: DefaultRules()}}
	for name, to := range map[string]any{"globalSettings": &c.Global, "bridge": &c.Bridge, "history": &c.History, "metrics": &c.Metrics, "desktop": &c.Desktop, "updates": &c.Updates} {
		schemaTree().Properties[name].setDefaults(to)
	}
	return c
}

// Server returns the server with the given id, ignoring case.
func (c *Config) Server(id string) (Server, bool) {
	for _, s := range c.Servers {
		if strings.EqualFold(s.ID, id) {
			return s, true
		}
	}
	return Server{}, false
}

// ServerNamed returns the server with an id or with the name that the configuration gives it, such as
// "My Files" with the id My-Files.
func (c *Config) ServerNamed(name string) (Server, bool) {
	for _, s := range c.Servers {
		if s.Label == name {
			return s, true
		}
	}
	if s, ok := c.Server(name); ok {
		return s, true
	}
	return c.Server(core.Slug(name))
}

// UsesWorkspace reports whether the server depends on the folder that its client works in.
func (s *Server) UsesWorkspace() bool {
	uses := func(value string) bool { return strings.Contains(value, "${"+WorkspaceFolder) }
	if uses(s.Cwd) || uses(s.Command) || slices.ContainsFunc(s.Args, uses) {
		return true
	}
	used := func(env map[string]string) bool { return slices.ContainsFunc(slices.Collect(maps.Values(env)), uses) }
	return used(s.Env) || slices.ContainsFunc(slices.Collect(maps.Values(s.Accounts)), func(a Account) bool { return used(a.Env) })
}

// Broken reports whether a server was left out or a file was refused: at least one problem is
// an error.
func (c *Config) Broken() bool { return HasErrors(c.Problems) }

// Keys returns the keys that are written in the entry of the server, in order.
func (s *Server) Keys() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.keys)), func(key string) bool { return strings.Contains(key, ".") })
}

func rootFields(c *Config, policy *rules, containers *[]container) []field {
	servers := func(path, name string) field {
		return field{name, func(r *reader, name string, _ Position, n *node) {
			if n.kind != kindObject && n.kind != kindList {
				r.reportWrongKind(n, name, "an object of servers")
				return
			}
			*containers = append(*containers, container{path, n})
		}}
	}
	root := schemaTree()
	return []field{
		servers("mcpServers", "mcpServers"),
		servers("servers", "servers"),
		section("mcp",
			boolean("enabled", &c.MCPEnabled),
			servers("mcp.servers", "servers"),
			boolean("debug", &c.Global.Debug),
			globalSettings(&c.Global),
		),
		globalSettings(&c.Global),
		root.section("bridge", &c.Bridge),
		root.section("history", &c.History, patterns("redact", &c.History.Redact)),
		section("policy", policyFields(policy, &c.Policy)...),
		profilesField(&c.Profiles),
		clientsField(&c.Clients),
		section("directory", str("url", &c.DirectoryURL, validateHTTPURL)),
		root.section("desktop", &c.Desktop),
		root.section("updates", &c.Updates),
		root.section("metrics", &c.Metrics),
		inputsField(),
		anything("$schema"),
	}
}

// globalSettings is at the top or inside mcp; if both set a key, the later one in the file wins.
func globalSettings(g *Global) field {
	return schemaTree().section("globalSettings", g,
		oneOfThen("approveNewCommands", []string{ApproveOff, ApproveAsk}, func(word string) { g.ApproveNewCommands = word == ApproveAsk }),
	)
}

// entry is a server while it is parsed, with the values that are needed only then.
type entry struct {
	Server
	typeName  string
	httpURL   string        // httpUrl
	timeout   time.Duration // the alias
	container string
	enabled   bool
	filter    Filter
	rules     rules
}

func serverFields(e *entry) []field {
	s := &e.Server
	more := []field{
		str("type", &e.typeName),
		str("transport", &e.typeName),
		stringMap("env", &s.Env, s.keys),
		str("httpUrl", &e.httpURL, validateHTTPURL),
		stringMap("headers", &s.Headers, s.keys),
		oauthField(&s.OAuth),
		accountsField(&s.Accounts, s.keys),
		str("container", &e.container, validateNotBlank),
		section("docker", dockerFields(&s.Docker)...),
		sandboxField(&s.Sandbox),
		section("from", replayFields(&s.Replay)...),
		oneOf("misses", &s.Replay.Misses, MissesStrict, MissesNearest, MissesPassthrough),
		boolean("realtime", &s.Replay.Realtime),
		boolean("enabled", &e.enabled),
		schemaTree().Defs["server"].field("timeout", "", &e.timeout),
		section("policy", oneOf("preset", &e.rules.preset, PresetStrict)),
		anything("name"),
		anything("description"),
	}
	return schemaTree().Defs["server"].fields(s, slices.Concat(filterFields(&e.filter), ruleFields(&e.rules), more)...)
}
