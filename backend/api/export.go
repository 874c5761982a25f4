package api

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/cassette"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// exportOf reads what is asked for, and what is wrong with it.
func exportOf(v url.Values) (q store.Query, format string, bad []core.FieldError) {
	q = store.Query{Outcome: core.Outcome(v.Get("outcome")), Text: v.Get("q")}
	for _, word := range []struct {
		name string
		into *string
		most int // as CallFilter has it
	}{
		{"server", &q.Server, 256}, {"client", &q.Client, 1000}, {"tool", &q.Tool, 1000}, {"session", &q.Session, 200},
		{"workspace", &q.Workspace, 1000}, {"account", &q.Account, 32}, {"tag", &q.Tag, 50}, {"version", &q.Version, 200},
	} {
		if *word.into = v.Get(word.name); utf8.RuneCountInString(*word.into) > word.most {
			bad = append(bad, core.FieldError{Field: "query." + word.name, Error: "must be at most " + strconv.Itoa(word.most) + " characters"})
		}
	}
	for name, into := range map[string]*time.Time{"from": &q.From, "to": &q.To} {
		if text := v.Get(name); text != "" {
			at, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				bad = append(bad, core.FieldError{Field: "query." + name, Error: "must be a time such as 2026-01-31T10:00:00Z"})
			}
			*into = at
		}
	}
	for name, into := range map[string]*int64{"minTookNs": (*int64)(&q.MinTook), "maxTookNs": (*int64)(&q.MaxTook)} {
		if text := v.Get(name); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 {
				bad = append(bad, core.FieldError{Field: "query." + name, Error: "must be a number"})
			}
			*into = n
		}
	}
	if text := v.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			bad = append(bad, core.FieldError{Field: "query.limit", Error: "must be a number of at least 1"})
		}
		q.Limit = n
	}
	if format = v.Get("format"); format != "" && format != "jsonl" && format != "csv" && format != "har" && format != "cassette" {
		bad = append(bad, core.FieldError{Field: "query.format", Error: "must be jsonl, csv, har or cassette"})
	}
	if format == "cassette" && q.Server == "" {
		bad = append(bad, core.FieldError{Field: "query.server", Error: "is required for a cassette"})
	}
	return q, format, bad
}

// export streams; it is a plain handler because huma would hold the whole file.
func (a *API) export(w http.ResponseWriter, r *http.Request) {
	q, format, bad := exportOf(r.URL.Query())
	var err error
	if q.Server, err = a.serverID(q.Server); err != nil {
		writeProblem(w, err)
		return
	}
	if err := q.Check(); err != nil && len(bad) == 0 { // before the first byte: later nobody could be told
		writeProblem(w, err)
		return
	}
	if len(bad) > 0 {
		writeProblem(w, &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: bad})
		return
	}
	var recording *cassette.Recording
	if format == "cassette" {
		if recording, err = history.ReadRecording(r.Context(), a.HistoryStore, q); err != nil {
			writeProblem(w, err)
			return
		}
	}
	h := w.Header()
	noStore(h)
	write, kind, name := history.JSONL, "application/jsonl", "calls.jsonl"
	switch format {
	case "csv":
		write, kind, name = history.CSV, "text/csv; charset=utf-8", "calls.csv"
	case "har":
		write, kind, name = history.HAR, "application/json", "calls.har"
	case "cassette":
		write = func(_ context.Context, w io.Writer, _ history.Calls, _ store.Query) error { return recording.Write(w) }
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if err := write(r.Context(), w, a.History, q); err != nil && r.Context().Err() == nil {
		a.Log.Error("Cannot export calls", "error", err)
		panic(http.ErrAbortHandler) // a file that ends early must not look whole
	}
}
