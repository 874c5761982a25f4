package api

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Servers are the servers we run; *supervisor.Supervisor implements it.
type Servers interface {
	Statuses() []core.ServerStatus
	Status(id string) (core.ServerStatus, bool)
	Start(ctx context.Context, id string) error
	Stop(ctx context.Context, id string) error
	Restart(ctx context.Context, id string) error
	BothEras(id string) bool // a server has a connection in each era
}

// Views are what is offered; *registry.Registry implements it.
type Views interface {
	All() *registry.View
	Server(id string) (*registry.View, bool)
	Profile(name string, limit int) (*registry.View, bool)
	Draft(p config.Profile) *registry.View
}

// Calls is the call path; *gateway.Gateway implements it.
type Calls interface {
	Call(ctx context.Context, call *core.Call, sink core.Sink) (core.Reply, error)
	Running() []core.Call // those that have not ended
	RunningCall(id int64) (core.Call, bool)
}

// History is what was recorded; *store.Store implements it.
type History interface {
	Calls(ctx context.Context, q store.Query) (calls []core.Call, next int64, err error)
	Call(ctx context.Context, id int64) (*store.Record, error)
	Clients(ctx context.Context) ([]store.ClientUse, error)
}

// Recorder is asked how recording goes; *store.Recorder implements it.
type Recorder interface{ Stats() store.Stats }

// Files are the configuration; *reload.Reloader implements it.
type Files interface {
	Current() *config.Config
	Problems() []config.Problem
	Text() (path string, text []byte, etag string, err error)
	Replace(ctx context.Context, text []byte, etag string) error
	Enable(ctx context.Context, id string) error
	Disable(ctx context.Context, id string) error
	Add(ctx context.Context, label string, entry json.RawMessage) error
	Remove(ctx context.Context, id string) error
	Renaming(id, label string) (to string, err error)
	Rename(ctx context.Context, id, label string) (to string, err error)
	SetArgument(ctx context.Context, id string, at int, was, now string) error
	SetTool(ctx context.Context, id, tool string, set map[string]json.RawMessage) error
}

// Logs are the servers' own logs; *serverlog.Logs implements it.
type Logs interface {
	Tail(server string, n int) []serverlog.Line // the last n, all in memory for 0
}

// Sessions are the clients that are connected; *bridge.Bridge implements it.
type Sessions interface {
	Sessions() []bridge.Session
	ClientInfos() []bridge.ClientInfo
}

// Metrics answers /metrics.
type Metrics interface {
	Handler() http.Handler // nil while metrics are not enabled
	Public() bool          // they need no token
}

// Options are what an API works with. All but those said to be optional are needed.
type Options struct {
	Version    string
	URL        string // http://127.0.0.1:PORT
	StartedAt  time.Time
	ConfigPath string

	Servers  Servers
	Views    Views
	Calls    Calls
	History  History
	Upkeep   Upkeep
	Recorder Recorder
	Logs     Logs
	Files    Files
	Bridge   Sessions
	Tokens   *loopback.Tokens
	Sessions *loopback.BrowserSessions
	Admin    *loopback.Admin
	Bus      *event.Bus

	Desktop   Desktop               // optional: start at login, pause, quit
	Connector *clientconf.Connector // optional: the clients' own files
	Seen      Seen                  // optional: which clients came, and what they were shown
	// Doctor looks for what keeps servers and clients from working; optional.
	Doctor  func(ctx context.Context) (doctor.Options, error)
	Secrets *secret.Store // optional: what ${secret:NAME} stands for
	// Diagnosed says where to look for a bug report's bundle; optional.
	Diagnosed func(ctx context.Context) doctor.BundleOptions

	Logins    Logins            // optional: signing in to remote servers
	Reach     Reach             // optional: writes profiles
	Sizes     Sizes             // optional: what lists take
	Directory *marketplace.List // optional: servers that can be installed
	Bundles   string            // where bundles are unpacked
	Copies    config.Copies     // of the configuration file; without a folder there are none

	Questions Questions                                 // optional: what servers ask the user
	Rules     Rules                                     // optional: what calls are held to
	Commands  Commands                                  // optional: new commands that wait for approval
	Debug     func(id string) (supervisor.Debug, error) // optional: all that is known of a server
	// Try starts a server for once, with the sign-in of the configured server as; optional.
	Try func(ctx context.Context, c *config.Server, as string) supervisor.Trial

	Facts Facts // optional: what stood in the configuration before
	Trust Trust // optional: what was trusted, and what changed since

	UI       fs.FS                                  // optional: the page, index.html at its root
	Usage    func(id string) (process.Usage, error) // optional: what a server's processes take
	Metrics  Metrics                                // optional: /metrics; without it, it is not found
	Redact   func(string) string                    // optional: takes secrets out of what was not recorded yet
	Timeline *history.Timeline                      // optional: messages of those that somebody debugs
	Watchman *history.Watchman                      // optional: keeps how checks went
	Notices  func() []event.Notice                  // optional: more that the user should know
	Log      *slog.Logger                           // optional
}

// API is the http.Handler for everything but MCP. It belongs behind loopback.Guard.
type API struct {
	Options
	routes *routes
	// operations are built when the first of them is asked for: their schemas and the
	// document take longer than all else of a start, and a daemon may never need them.
	operations func() *routes
	waiting    waiting
	trials     chan struct{} // holds one for each server that is being tried
	windows    windows
	plans      plans
	uploads    marketplace.Uploads // bundles that a browser sends
	readers    atomic.Int32        // open event streams
}

// Watched reports whether somebody follows the events: a page is open.
func (a *API) Watched() bool { return a != nil && a.readers.Load() > 0 }

// New makes an API. It serves at once; Run is needed for calls that began before a
// page was opened to be seen on it.
func New(o Options) *API {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &API{Options: o, trials: make(chan struct{}, maxTrials), uploads: marketplace.Uploads{Folder: o.Bundles}, routes: newRoutes(loopback.RequireAdmin(loopback.AdminOptions{Admin: o.Admin, Sessions: o.Sessions, Log: o.Log}))}
	if a.Redact == nil {
		a.Redact = func(text string) string { return text }
	}
	a.register()
	a.operations = sync.OnceValue(a.document)
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if cause := recover(); cause != nil {
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			a.Log.Error("A request failed inside Drawbridge", "path", r.URL.Path, "cause", cause)
			writeProblem(w, core.Errorf(core.CodeInternal, "something went wrong inside Drawbridge"))
		}
	}()
	a.routes.mux.ServeHTTP(w, r)
}

// Run tells of commands that wait for the user, until ctx ends.
func (a *API) Run(ctx context.Context) error {
	a.waiting.follow(ctx, a.Bus, a.standingNow)
	return nil
}
