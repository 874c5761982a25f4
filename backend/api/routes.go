package api

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Access is the access that a route requires.
type Access string

const (
	// Anyone needs no token: health, the static page, the exchange of a one-time code.
	Anyone Access = "anyone"
	// User needs the admin token or a browser session.
	User Access = "user"
)

// Route is one line of the table of routes.
type Route struct {
	Pattern string // in the syntax of http.ServeMux
	Access  Access
}

type routes struct {
	mux         *http.ServeMux
	requireUser func(http.Handler) http.Handler
	table       []Route
}

func newRoutes(person func(http.Handler) http.Handler) *routes {
	return &routes{mux: http.NewServeMux(), requireUser: person}
}

func (t *routes) add(access Access, pattern string, h http.HandlerFunc) {
	t.table = append(t.table, Route{pattern, access})
	if access == User {
		t.mux.Handle(pattern, t.requireUser(h))
		return
	}
	t.mux.Handle(pattern, h)
}

// addUnless adds a route for the user, and for anyone while public returns true.
func (t *routes) addUnless(public func() bool, pattern string, h http.HandlerFunc) {
	t.table = append(t.table, Route{pattern, User})
	guarded := t.requireUser(h)
	t.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if public() {
			h(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// metrics serves Prometheus while the configuration enables it.
func (a *API) metrics(w http.ResponseWriter, r *http.Request) {
	if h := a.Metrics.Handler(); h != nil {
		h.ServeHTTP(w, r)
		return
	}
	web.WriteProblem(w, core.Errorf(core.CodeNotFound, "metrics are not enabled"))
}

// HandleFunc adds an operation of huma; all of them require User.
func (t *routes) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	t.add(User, pattern, func(w http.ResponseWriter, r *http.Request) { h(&singleHeaderWriter{ResponseWriter: w}, r) })
}

func (t *routes) ServeHTTP(w http.ResponseWriter, r *http.Request) { t.mux.ServeHTTP(w, r) }

// Routes returns the table of routes.
func (a *API) Routes() []Route { return slices.Concat(a.routes.table, a.operations().table) }

// register fills the table with the plain handlers and with one route for all operations of huma.
func (a *API) register() {
	t := a.routes
	t.add(Anyone, "GET /healthz", a.health)
	t.add(Anyone, "GET /health", a.health)
	t.add(Anyone, "POST /api/session", a.openSession)
	t.add(Anyone, "/", a.servePage)
	t.add(User, "/api/", func(w http.ResponseWriter, r *http.Request) {
		a.waitStarted(r.Context())
		a.operations().ServeHTTP(w, r)
	})
	t.addUnless(func() bool { return a.Metrics.Public() }, "/metrics", a.metrics)
	t.add(User, "GET /api/v1/events", a.events)
	t.add(User, "GET /api/v1/window", a.FollowWindow)
}

// waitStarted waits for the first configuration: until then there are no servers, and a page would show
// the first run of a new user. It does not wait longer than 15 seconds.
func (a *API) waitStarted(ctx context.Context) {
	if a.Started == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if err := a.Started(ctx); err != nil {
		a.Log.Warn("The configuration is not in use yet", "error", err)
	}
}

// operations returns the operations. They are built on the first request for one, and again after
// ReleaseMemory: building their schemas and the document takes longer than the rest of a start, and
// a daemon may never need them.
func (a *API) operations() *routes {
	a.buildMu.Lock()
	defer a.buildMu.Unlock()
	if a.built == nil {
		a.built = a.document()
	}
	return a.built
}

// ReleaseMemory drops the operations unless a page is open. Their schemas take 4 MB.
func (a *API) ReleaseMemory() {
	if a.streams.Load() > 0 {
		return
	}
	a.buildMu.Lock()
	a.built = nil
	a.buildMu.Unlock()
}

// document builds the operations and the OpenAPI document. Requests have passed the access check
// before: see register.
func (a *API) document() *routes {
	t := newRoutes(func(next http.Handler) http.Handler { return next })
	t.add(User, "/api/", func(w http.ResponseWriter, _ *http.Request) {
		web.WriteProblem(w, core.Errorf(core.CodeNotFound, "no such API endpoint"))
	})

	cfg := huma.DefaultConfig("Drawbridge", "1")
	cfg.Info.Description = "The local API of Drawbridge. MCP payloads are JSON text in strings."
	cfg.CreateHooks = nil // no $schema links
	cfg.DocsPath, cfg.SchemasPath = "", ""
	cfg.OpenAPIPath = "/api/openapi"
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"admin": {Type: "http", Scheme: "bearer", Description: "The content of admin.token in the data folder."},
	}
	cfg.Security = []map[string][]string{{"admin": {}}}
	doc := humago.New(t, cfg)
	r := web.NewRouter(doc, a.Log, a.serverID)

	web.Op(r, "GET", "/api/v1/status", "State of the daemon, its servers and clients", a.getStatus)
	web.Op(r, "POST", "/api/v1/servers/{id}/rename", "Rename a server; its history is kept", a.renameServer)
	web.Op(r, "DELETE", "/api/v1/notices/{subject}", "Dismiss a notice", a.dismissNotice)
	web.Op(r, "GET", "/api/v1/config", "The configuration file", a.getConfig)
	web.Op(r, "PUT", "/api/v1/config", "Replace the configuration file; If-Match must be the ETag of the file that was read", a.putConfig)
	web.Op(r, "PATCH", "/api/v1/config", "Edit the configuration file and keep its comments; If-Match must be the ETag of the file that was read", a.patchConfig)
	for _, f := range a.Features {
		f.Routes(r)
	}
	web.Op(r, "POST", "/api/v1/config/reload", "Read the configuration files now; the response comes when they are in use, and is an error if they are not", a.reloadConfig)
	a.registerBackups(r)
	documentEvents(doc.OpenAPI())
	return t
}

// documentEvents adds the stream, which huma does not serve, to the document.
func documentEvents(doc *huma.OpenAPI) {
	for _, one := range []any{Snapshot{}, history.Call{}} {
		doc.Components.Schemas.Schema(reflect.TypeOf(one), true, "")
	}
	doc.AddOperation(&huma.Operation{
		Method: "GET", Path: "/api/v1/events", OperationID: "get-events",
		Summary:     "Changes, as server-sent events",
		Description: "The first event is `snapshot` (Snapshot). It is followed by `server` (ServerStatus), `removed` (a server id), `call` (Call, at its start and at its end), `catalog` (a server id), `config`, `health`, `approval` (Approval, when it becomes pending and when it is resolved) and `policy` (BreakerStatus, when a server's circuit breaker opens or closes). A comment is sent every 15 s. A client that reads too slowly is disconnected; when it reconnects, it receives a new snapshot.",
		Responses: map[string]*huma.Response{"200": {
			Description: "The stream", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	})
}
