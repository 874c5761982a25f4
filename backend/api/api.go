package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Servers knows the servers; *supervisor.Supervisor implements it.
type Servers interface {
	Statuses() []core.ServerStatus
	Status(id string) (core.ServerStatus, bool)
}

// ConfigEditor reads and edits the configuration; *config.Reloader implements it.
type ConfigEditor interface {
	Current() *config.Config
	Problems() []config.Problem
	Text() (path string, text []byte, etag string, err error)
	Replace(ctx context.Context, text []byte, etag string) error
	Patch(ctx context.Context, edits []config.Edit, etag string) error
	Sync(ctx context.Context, confirm string) error
	TryPatch(edits []config.Edit, etag string) ([]byte, []config.Problem, error)
}

// Renamer renames servers in the configuration; *config.Reloader implements it.
type Renamer interface {
	CheckRename(id, label string) (to string, err error)
	Rename(ctx context.Context, id, label string) (to string, warnings []string, err error)
}

// Commands has notices about new commands; *supervisor.Supervisor implements it.
type Commands interface {
	Notices() []core.Notice
	Dismiss(subject string) bool
	// SuppressCommandNotice suppresses the notice for a server that the user is adding or changing.
	SuppressCommandNotice(server string)
	// ExpectCommand suppresses the notice for a command that the user is writing.
	ExpectCommand(server *config.Server)
}

// Logins moves the sign-in of a server to another id.
type Logins interface {
	Rename(ctx context.Context, from, to string) error
}

// Clients has the entries in the files of clients; *clientconf.Feature implements it.
type Clients interface {
	// RenameServer updates the entries that name a renamed server, and returns warnings about them.
	RenameServer(ctx context.Context, from, to, label string) (warnings []string)
}

// Metrics serves /metrics.
type Metrics interface {
	Handler() http.Handler // nil while metrics are not enabled
	Public() bool          // whether /metrics needs no token
}

// Options are the dependencies of an API. All are required except Log.
type Options struct {
	Version    string
	URL        string // such as http://127.0.0.1:7575
	StartedAt  time.Time
	ConfigPath string

	Servers      Servers
	Views        *registry.Registry
	History      *history.Feature
	ConfigEditor ConfigEditor
	Renamer      Renamer
	Tokens       *loopback.Tokens
	Sessions     *loopback.BrowserSessions
	Admin        *loopback.AdminToken
	Bus          *core.Bus

	FollowWindow http.HandlerFunc // streams commands to the window

	Clients Clients
	Logins  Logins         // signing in to remote servers
	Copies  config.Backups // backups of the configuration file; none without a folder

	Approvals *approvals.Feature
	Rules     *policy.Policy
	Commands  Commands // notices about new commands

	Trust    *trust.Baseline // trusted tools and changes since
	Features []web.Feature   // their operations
	Observer *sandbox.DestinationSampler

	UI            fs.FS                                              // the page, index.html at its root
	Usage         func([]core.ServerStatus) []supervisor.ServerUsage // resource usage of servers
	Metrics       Metrics                                            // /metrics
	Notices       func() []core.Notice                               // further notices for the user
	KnowsReleases func() bool                                        // see Status.KnowsReleases
	Started       func(context.Context) error                        // blocks until the first configuration is in use; nil: it is
	Log           *slog.Logger                                       // none if nil
}

// API is the http.Handler for everything except MCP. It must be wrapped by loopback.Guard.
type API struct {
	Options
	routes *routes
	// built holds the operations: see operations.
	buildMu sync.Mutex
	built   *routes
	streams atomic.Int32 // open event streams, one for each page
}

// New returns an API that can serve requests.
func New(o Options) *API {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &API{Options: o, routes: newRoutes(loopback.RequireAdmin(loopback.AdminOptions{Admin: o.Admin, Sessions: o.Sessions, Log: o.Log}))}
	a.register()
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if cause := recover(); cause != nil {
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			a.Log.Error("Panic while handling a request", "path", r.URL.Path, "cause", cause)
			web.WriteProblem(w, core.Errorf(core.CodeInternal, "internal error. See the log for details: drawbridge logs"))
		}
	}()
	a.routes.mux.ServeHTTP(w, r)
}

// openSession exchanges a one-time code for a cookie and a key. It is the only plain handler,
// because it needs no token.
func (a *API) openSession(w http.ResponseWriter, r *http.Request) {
	if err := loopback.RefuseOtherUser(r); err != nil {
		web.WriteProblem(w, err)
		return
	}
	var body struct {
		Code string `json:"code"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&body); err != nil || body.Code == "" {
		web.WriteProblem(w, &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "code", Error: "is required"}}})
		return
	}
	cookie, key, err := a.Options.Sessions.Exchange(body.Code)
	if err != nil {
		web.WriteProblem(w, err)
		return
	}
	http.SetCookie(w, cookie)
	w.Header().Set("Content-Type", "application/json")
	web.NoStore(w.Header())
	_ = json.NewEncoder(w).Encode(struct {
		Key string `json:"key"`
	}{key})
}

// isAuthenticated reports whether a request has the admin token, the token of a client or a
// session.
func (a *API) isAuthenticated(w http.ResponseWriter, r *http.Request) bool {
	token, shown := loopback.BearerOf(r)
	if !shown {
		return a.Sessions.Check(w, r)
	}
	if a.Admin.Valid(token) {
		return true
	}
	_, client := a.Tokens.Client(token)
	return client
}

// contentPolicy is what the page may do: load and reach nothing but ourselves, and be
// framed by nobody. Text of servers shown as markup by mistake could still do nothing,
// and browsers that know trusted types do not even parse it.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; media-src data:; font-src 'self'; frame-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'"

const permissionsPolicy = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"

// nonceMark is replaced in index.html by a random value for each response. The page's code editor
// adds a style element that names it; no other style element is allowed.
const nonceMark = "STYLE-NONCE"

// types are by suffix and not the system's, which may know them wrongly.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon", ".woff2": "font/woff2",
	".json": "application/json", ".webmanifest": "application/manifest+json", ".txt": "text/plain; charset=utf-8",
}

// IsShell reports whether a request is for the static page. Links from anywhere may open it,
// because it contains no data of the user.
func IsShell(r *http.Request) bool {
	return r.Method == http.MethodGet && (r.URL.Path == "/" || r.URL.Path == "/index.html")
}

// servePage serves the page. Its routes are in the fragment, so there is one document.
func (a *API) servePage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		web.WriteProblem(w, core.Errorf(core.CodeNotFound, "there is no such page"))
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	kind, known := types[path.Ext(name)]
	var body []byte
	err := fs.ErrNotExist
	if known {
		body, err = fs.ReadFile(a.UI, name)
	}
	h := w.Header()
	if err != nil && name == "index.html" {
		body, kind, err = []byte(noPage), types[".html"], nil
	}
	if err != nil {
		web.WriteProblem(w, core.Errorf(core.CodeNotFound, "there is no such page"))
		return
	}
	web.NoStore(h)
	h.Set("Content-Type", kind)
	policy := contentPolicy
	if name == "index.html" {
		nonce := rand.Text()
		policy = strings.Replace(policy, "style-src 'self'", "style-src 'self' 'nonce-"+nonce+"'", 1)
		body = bytes.Replace(body, []byte(nonceMark), []byte(nonce), 1)
	}
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", permissionsPolicy)
	if strings.HasPrefix(name, "assets/") { // named by their content
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("Vary", "Accept-Encoding")
		// For a browser behind a tunnel. Fonts and pictures are compressed already.
		if acceptsGzip(r) && (strings.HasPrefix(kind, "text/") || kind == types[".svg"]) {
			h.Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			_, _ = z.Write(body)
			_ = z.Close()
			return
		}
	}
	_, _ = bytes.NewReader(body).WriteTo(w)
}

func acceptsGzip(r *http.Request) bool {
	for _, one := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";")
		if name == "gzip" {
			return strings.Trim(strings.TrimPrefix(quality, "q="), "0.") != "" || quality == ""
		}
	}
	return false
}

const noPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Drawbridge</title>
<p>Drawbridge is running, but this build does not include the web UI. To build Drawbridge with it, run: make build</p></html>`

// singleHeaderWriter makes sure that the header of a response is written once. When a reader
// disconnects during a response, as a page does on navigation, huma writes a second header, which
// net/http logs as an error.
type singleHeaderWriter struct {
	http.ResponseWriter
	written bool
}

func (o *singleHeaderWriter) WriteHeader(status int) {
	if o.written {
		return
	}
	o.written = status >= 200
	o.ResponseWriter.WriteHeader(status)
}

func (o *singleHeaderWriter) Write(b []byte) (int, error) {
	o.written = true
	return o.ResponseWriter.Write(b)
}

// Unwrap lets an http.ResponseController reach the connection.
func (o *singleHeaderWriter) Unwrap() http.ResponseWriter { return o.ResponseWriter }
