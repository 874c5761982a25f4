package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/danielgtaylor/huma/v2/validation"
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

// routes is the complete table of routes.
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
	writeProblem(w, core.Errorf(core.CodeNotFound, "metrics are not enabled"))
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
	t.add(User, "/api/", func(w http.ResponseWriter, r *http.Request) { a.operations().ServeHTTP(w, r) })
	t.addUnless(func() bool { return a.Metrics.Public() }, "/metrics", a.metrics)
	t.add(User, "GET /api/v1/events", a.events)
	t.add(User, "GET /api/v1/window", a.followWindow)
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
		writeProblem(w, core.Errorf(core.CodeNotFound, "no such API endpoint"))
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

	op(a, doc, "GET", "/api/v1/status", "State of the daemon, its servers and clients", a.status)
	op(a, doc, "GET", "/api/v1/servers", "All servers, in configuration order", a.listServers)
	op(a, doc, "GET", "/api/v1/servers/{id}", "A server with the end of its log and its resource usage", a.getServer)
	op(a, doc, "POST", "/api/v1/servers/{id}/{action}", "Start, stop, restart, enable or disable a server; connect, disconnect and reconnect are aliases of the first three", a.changeServer)
	op(a, doc, "POST", "/api/v1/servers", "Add a server to the main configuration file", a.addServer)
	op(a, doc, "POST", "/api/v1/convert-server", "Convert the entry of a server from the configuration of another program; nothing is written", a.convertEntry)
	op(a, doc, "DELETE", "/api/v1/servers/{id}", "Remove a server from the configuration", a.removeServer)
	op(a, doc, "POST", "/api/v1/servers/{id}/rename", "Rename a server; its history is kept", a.renameServer)
	op(a, doc, "GET", "/api/v1/servers/{id}/debug", "Debug information for a server, with its latest messages; recognized secrets are redacted", a.debugServer)
	op(a, doc, "GET", "/api/v1/servers/{id}/log", "Log of a server: its stderr output and lifecycle events", a.serverLog)
	op(a, doc, "GET", "/api/v1/server-usage", "Resource usage of the servers", a.serverUsage)
	op(a, doc, "DELETE", "/api/v1/notices/{subject}", "Dismiss a notice", a.dismissNotice)
	op(a, doc, "GET", "/api/v1/tools", "All tools with their public names", a.listTools)
	op(a, doc, "GET", "/api/v1/calls", "Recorded calls, newest first", a.listCalls)
	op(a, doc, "GET", "/api/v1/calls/{id}", "A call with its payloads", a.getCall)
	op(a, doc, "POST", "/api/v1/call", "Call a tool; the call is recorded like any other", a.call)
	op(a, doc, "POST", "/api/v1/live-call", "Call a tool, or get a prompt or resource, for a replay; approval rules apply as for a client", a.callLive)
	op(a, doc, "GET", "/api/v1/clients", "Applications that have connected or have a token", a.listClients)
	op(a, doc, "GET", "/api/v1/config", "The configuration file", a.getConfig)
	op(a, doc, "PUT", "/api/v1/config", "Replace the configuration file; If-Match must be the ETag of the file that was read", a.putConfig)
	op(a, doc, "GET", "/api/v1/approvals", "Pending approvals: calls, forms and URLs from servers, new commands and changed tools", a.listApprovals)
	op(a, doc, "POST", "/api/v1/approvals/{id}", "Respond to a pending approval; a command that is not accepted remains pending", a.answerApproval)
	a.registerConnections(doc)
	a.registerDocker(doc)
	a.registerTrial(doc)
	a.registerSecrets(doc)
	a.registerLogins(doc)
	a.registerDoctor(doc)
	a.registerDiagnostics(doc)
	a.registerHistory(doc)
	a.registerPolicy(doc)
	a.registerTrust(doc)
	a.registerVersions(doc)
	a.registerObservations(doc)
	a.registerSandbox(doc)
	a.registerDesktop(doc)
	a.registerFeatures(doc)
	a.registerProfiles(doc)
	a.registerSuggestions(doc)
	a.registerDirectory(doc)
	documentEvents(doc.OpenAPI())
	return t
}

// op adds an operation whose handler returns a core.Error.
func op[In, Out any](a *API, doc huma.API, method, path, summary string, handler func(context.Context, *In) (*Out, error)) {
	o := newOperation(method, path, summary)
	huma.Register(doc, o, adapt(a.Log, o.OperationID, acceptServerNames(a, handler)))
}

// maxRequest is the maximum size of the body of a request in bytes.
const maxRequest = 4 << 20

func newOperation(method, path, summary string) huma.Operation {
	return huma.Operation{
		Method: method, Path: path, Summary: summary, OperationID: operationID(method, path), MaxBodyBytes: maxRequest, BodyReadTimeout: -1,
		Errors: []int{http.StatusUnauthorized, http.StatusBadRequest, http.StatusInternalServerError},
	}
}

// documentEvents adds the stream, which huma does not serve, to the document.
func documentEvents(doc *huma.OpenAPI) {
	for _, one := range []any{Snapshot{}, Call{}} {
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

type (
	none          struct{}
	answer[T any] struct{ Body T }
)

func reply[T any](body T) (*answer[T], error) { return &answer[T]{body}, nil }

// nonNil returns s, or an empty slice for nil, which JSON would encode as null.
func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// ErrorDocument is an error as the API sends it.
type ErrorDocument struct {
	Title  string            `json:"title"`
	Status int               `json:"status"`
	Code   core.Code         `json:"code"`
	Detail string            `json:"detail" doc:"Human-readable sentence"`
	Hint   string            `json:"hint,omitempty" doc:"What to do next"`
	Errors []core.FieldError `json:"errors,omitempty" doc:"Invalid values by path"`

	Retriable bool `json:"retriable" doc:"Whether the same request may succeed later"`
}

func (p *ErrorDocument) Error() string { return p.Detail }

// GetStatus is the status of the response that huma writes for the error.
func (p *ErrorDocument) GetStatus() int { return p.Status }

// ContentType is that of RFC 9457.
func (p *ErrorDocument) ContentType(string) string { return "application/problem+json" }

var statuses = map[core.Code]int{
	core.CodeValidation: http.StatusBadRequest, core.CodeNotFound: http.StatusNotFound,
	core.CodeUnauthorized: http.StatusUnauthorized, core.CodeTimeout: http.StatusGatewayTimeout,
	core.CodeCancelled: http.StatusRequestTimeout, core.CodeRateLimited: http.StatusTooManyRequests,
	core.CodeBreakerOpen: http.StatusServiceUnavailable, core.CodeRejected: http.StatusForbidden,
	core.CodeUnavailable: http.StatusServiceUnavailable, core.CodeDegraded: http.StatusServiceUnavailable,
	core.CodeConflict: http.StatusConflict, core.CodeInternal: http.StatusInternalServerError,
}

// NewErrorDocument returns a document with the code and its status.
func NewErrorDocument(code core.Code) *ErrorDocument {
	status := statusOf(code)
	return &ErrorDocument{Title: http.StatusText(status), Status: status, Code: code}
}

// problemOf is what of err may be shown.
func problemOf(err error) *ErrorDocument {
	p := NewErrorDocument(core.CodeOf(err))
	p.Detail, p.Hint = core.Describe(err)
	if ours, ok := errors.AsType[*core.Error](err); ok {
		p.Errors, p.Retriable = ours.Fields, ours.Retriable
	}
	return p
}

func writeProblem(w http.ResponseWriter, err error) {
	p := problemOf(err)
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	noStore(h)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

func noStore(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// huma makes its own errors through this variable. Ours never hold the value that
// was wrong, nor the text of a foreign error.
func init() {
	huma.NewError = func(status int, _ string, errs ...error) huma.StatusError {
		if status == http.StatusUnprocessableEntity { // one status for what is wrong with a request
			status = http.StatusBadRequest
		}
		p := &ErrorDocument{Title: http.StatusText(status), Status: status, Code: core.CodeValidation, Detail: "the request is not valid"}
		switch {
		case status >= 500:
			for _, err := range errs {
				if core.CodeOf(err) == core.CodeValidation { // the body ends early, or its chunks are invalid
					return problemOf(err)
				}
			}
			p.Code, p.Detail = core.CodeInternal, "internal error. See the log for details: drawbridge logs"
			return p
		case status == http.StatusNotFound:
			p.Code, p.Detail = core.CodeNotFound, "no such API endpoint"
		case status == http.StatusRequestEntityTooLarge:
			p.Detail = "the request is larger than " + core.FormatLimit(maxRequest)
		case status == http.StatusBadRequest && len(errs) == 0:
			p.Detail = "the body is missing or not valid JSON"
		}
		for _, err := range errs {
			d, ok := err.(huma.ErrorDetailer)
			if !ok {
				p.Errors = append(p.Errors, core.FieldError{Field: "body", Error: "is not valid JSON"})
				continue
			}
			one := d.ErrorDetail()
			what := one.Message
			if what == validation.MsgUnexpectedProperty { // its place is its name, as it was sent
				one.Location = "body"
			}
			if one.Location == "body" && !strings.HasPrefix(what, "expected") && what != validation.MsgUnexpectedProperty {
				what = "is not valid JSON"
			}
			p.Errors = append(p.Errors, core.FieldError{Field: one.Location, Error: what})
		}
		return p
	}
}

// adapt turns a handler of ours into one of huma's.
func adapt[In, Out any](log *slog.Logger, id string, handler func(context.Context, *In) (*Out, error)) func(context.Context, *In) (*Out, error) {
	return func(ctx context.Context, in *In) (*Out, error) {
		out, err := handler(ctx, in)
		if err == nil {
			return out, nil
		}
		if ready, ok := errors.AsType[*ErrorDocument](err); ok {
			return nil, ready
		}
		if core.CodeOf(err) == core.CodeInternal {
			log.Error("Internal error while handling a request", "operation", id, "error", err)
		}
		return nil, problemOf(err)
	}
}

func operationID(method, path string) string {
	id := strings.ToLower(method)
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/api/v1/"), "/") {
		id += "-" + strings.Trim(part, "{}")
	}
	return id
}

// statusOf returns the HTTP status of a code.
func statusOf(code core.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}
