package api

import (
	"context"
	"io"
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

type exportInput struct {
	CallFilter
	Format string `query:"format" enum:"jsonl,csv,har,cassette" doc:"Default: jsonl"`
	Limit  int    `query:"limit" minimum:"1" doc:"Default: all"`
}

func (a *API) registerExport(doc huma.API) {
	o := newOperation("GET", "/api/v1/export", "Calls as JSONL, CSV (format=csv), an HTTP Archive (format=har) or a cassette of one server (format=cassette), with the filters of GET /api/v1/calls")
	o.Responses = map[string]*huma.Response{"200": {Description: "The file", Content: map[string]*huma.MediaType{
		"application/jsonl": {Schema: &huma.Schema{Type: huma.TypeString}}, "text/csv": {Schema: &huma.Schema{Type: huma.TypeString}},
		"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}},
	}}}
	huma.Register(doc, o, adapt(a.Log, o.OperationID, acceptServerNames(a, a.export)))
}

func (a *API) export(ctx context.Context, in *exportInput) (*huma.StreamResponse, error) {
	q := in.query()
	q.Limit = in.Limit
	if err := q.Check(); err != nil { // before the first byte: later nobody could be told
		return nil, err
	}
	write, kind, name := history.JSONL, "application/jsonl", "calls.jsonl"
	switch in.Format {
	case "csv":
		write, kind, name = history.CSV, "text/csv; charset=utf-8", "calls.csv"
	case "har":
		write, kind, name = history.HAR, "application/json", "calls.har"
	case "cassette":
		if q.Server == "" {
			return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "query.server", Error: "is required for a cassette"}}}
		}
		recording, err := history.ReadRecording(ctx, a.HistoryStore, q)
		if err != nil {
			return nil, err
		}
		write = func(_ context.Context, w io.Writer, _ history.Calls, _ store.Query) error { return recording.Write(w) }
	}
	return &huma.StreamResponse{Body: func(response huma.Context) {
		_, w := humago.Unwrap(response)
		h := w.Header()
		noStore(h)
		h.Set("Content-Type", kind)
		h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
		if err := write(ctx, w, a.History, q); err != nil && ctx.Err() == nil {
			a.Log.Error("Cannot export calls", "error", err)
			panic(http.ErrAbortHandler) // a file that ends early must not look whole
		}
	}}, nil
}
