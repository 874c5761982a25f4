// Package web is the door of the HTTP API: what the operations of a feature need. It knows no
// feature. A feature adds its operations to a [Router] with [Op]. Errors are RFC 9457 documents with
// a code and never repeat the request.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"

	"github.com/danielgtaylor/huma/v2"
)

// Feature is a part of the program with operations of its own.
type Feature interface{ Routes(r *Router) }

// Router takes the operations of the features.
type Router struct {
	doc      huma.API
	log      *slog.Logger
	serverID func(text string) (string, error)
}

// NewRouter returns a Router that adds operations to doc. serverID returns the id of the server with
// the name or id text.
func NewRouter(doc huma.API, log *slog.Logger, serverID func(text string) (string, error)) *Router {
	return &Router{doc, log, serverID}
}

// Op adds an operation whose handler returns a core.Error. Fields of In that are tagged
// server:"name" contain the id of the server when handler runs. responses replaces the documented
// ones of an operation that does not answer with a JSON document.
func Op[In, Out any](r *Router, method, path, summary string, handler func(context.Context, *In) (*Out, error), responses ...map[string]*huma.Response) {
	o := newOperation(method, path, summary)
	for _, documented := range responses {
		o.Responses = documented
	}
	huma.Register(r.doc, o, adapt(r.log, o.OperationID, acceptServerNames(r.serverID, handler)))
}

// MaxRequest is the maximum size of the body of a request in bytes.
const MaxRequest = 4 << 20

func newOperation(method, path, summary string) huma.Operation {
	return huma.Operation{
		Method: method, Path: path, Summary: summary, OperationID: operationID(method, path), MaxBodyBytes: MaxRequest, BodyReadTimeout: -1,
		Errors: []int{http.StatusUnauthorized, http.StatusBadRequest, http.StatusInternalServerError},
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
		return nil, Problem(err)
	}
}

func operationID(method, path string) string {
	id := strings.ToLower(method)
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/api/v1/"), "/") {
		id += "-" + strings.Trim(part, "{}")
	}
	return id
}

// acceptServerNames replaces the tagged fields: see Op. An unknown name is unchanged, because the
// history contains removed servers.
func acceptServerNames[In, Out any](serverID func(text string) (string, error), handler func(context.Context, *In) (*Out, error)) func(context.Context, *In) (*Out, error) {
	fields := serverFields(reflect.TypeFor[In](), nil)
	if len(fields) == 0 {
		return handler
	}
	return func(ctx context.Context, in *In) (*Out, error) {
		for _, path := range fields {
			field := reflect.ValueOf(in).Elem().FieldByIndex(path)
			id, err := serverID(field.String())
			if err != nil {
				return nil, err
			}
			field.SetString(id)
		}
		return handler(ctx, in)
	}
}

// serverFields are the paths of the tagged fields of a struct and of the structs in it.
func serverFields(t reflect.Type, above []int) (paths [][]int) {
	for i := range t.NumField() {
		f := t.Field(i)
		path := append(slices.Clone(above), i)
		switch {
		case f.Type.Kind() == reflect.Struct:
			paths = append(paths, serverFields(f.Type, path)...)
		case f.Tag.Get("server") == "name":
			paths = append(paths, path)
		}
	}
	return paths
}

// None is the input of an operation that takes none, or the output of one that returns no content.
type None struct{}

// Answer is the output of an operation: a JSON document.
type Answer[T any] struct{ Body T }

// Reply returns the output of a handler.
func Reply[T any](body T) (*Answer[T], error) { return &Answer[T]{body}, nil }

// NonNil returns s, or an empty slice for nil, which JSON would encode as null.
func NonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// List is a page of a list. Next is the cursor of the next page, "" if there is none.
type List[T any] struct {
	Items []T    `json:"items" nullable:"false"`
	Next  string `json:"next"`
}

// JSON is a value that is forwarded unchanged.
type JSON json.RawMessage

// Schema describes any value.
func (JSON) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "Any JSON value"}
}

// MarshalJSON implements json.Marshaler; an empty value is null.
func (j JSON) MarshalJSON() ([]byte, error) {
	if len(j) == 0 {
		return []byte("null"), nil
	}
	return j, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (j *JSON) UnmarshalJSON(b []byte) error {
	*j = append((*j)[:0], b...)
	return nil
}

// PageInput selects a page of a list.
type PageInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
	Before string `query:"before" pattern:"^[0-9]{0,18}$" doc:"The value of 'next' in the previous page"`
}

// ParseID parses the id of a call, or of the last item of a page. The patterns of the inputs permit
// only digits; 0 if there is none.
func ParseID(digits string) int64 {
	id, _ := strconv.ParseInt(digits, 10, 64)
	return id
}

// NextPage returns the value of 'next' in a page, or "" if it is the last one.
func NextPage(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

// ServerInput selects a server.
type ServerInput struct {
	ID string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
}

// ErrNoSuchServer is the error for the id of a server that is not configured.
var ErrNoSuchServer = core.Errorf(core.CodeNotFound, "there is no such server")

// Caller is who makes a request: the page or a command. It is part of the inputs of operations.
type Caller struct {
	By string `header:"X-Drawbridge-Client" hidden:"true"` // set by loopback.RequireAdmin
}

// Client returns the client of the calls that the request makes.
func (c *Caller) Client(version string) core.Client {
	if c.By == loopback.ByBrowser {
		return core.Client{Name: core.PageClient, Version: version}
	}
	return core.Client{Name: core.CommandClient, Version: version}
}

// Download is the output of an operation: a file.
type Download struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

// Zip returns a zip file as the output of a handler.
func Zip(name string, content []byte) *Download {
	return &Download{"application/zip", `attachment; filename="` + name + `"`, content}
}
