package history

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/cassette"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// Row is an exported call: one line of JSONL or one row of CSV.
type Row struct {
	ID        string    `json:"id"`
	At        time.Time `json:"at"`
	Client    string    `json:"client"`
	Token     string    `json:"token"`
	Session   string    `json:"session"`
	Workspace string    `json:"workspace"`
	Server    string    `json:"server"`
	Method    string    `json:"method"`
	Tool      string    `json:"tool"`
	Outcome   string    `json:"outcome"`
	Code      string    `json:"code"`
	Reason    string    `json:"reason"`
	TookNs    int64     `json:"tookNs"`
	BytesIn   int       `json:"bytesIn"`
	BytesOut  int       `json:"bytesOut"`
	Arguments string    `json:"arguments"`
	Result    string    `json:"result"`
	Error     string    `json:"error"`
	Account   string    `json:"account,omitempty"` // of the server
}

var csvColumns = []string{"id", "at", "client", "token", "session", "workspace", "server", "method", "tool", "outcome", "code", "reason", "tookNs", "bytesIn", "bytesOut", "arguments", "result", "error", "account"}

func (r *Row) cells() []string {
	return []string{r.ID, r.At.Format(time.RFC3339Nano), r.Client, r.Token, r.Session, r.Workspace, r.Server, r.Method, r.Tool, r.Outcome, r.Code, r.Reason,
		strconv.FormatInt(r.TookNs, 10), strconv.Itoa(r.BytesIn), strconv.Itoa(r.BytesOut), r.Arguments, r.Result, r.Error, r.Account}
}

func newRow(r *store.Record) *Row {
	return &Row{
		ID: strconv.FormatInt(r.ID, 10), At: r.At, Client: r.Client.Name, Token: r.Client.Token, Session: r.Session, Workspace: r.Workspace,
		Server: r.Server, Method: r.Method, Tool: r.Name, Outcome: string(r.Outcome), Code: string(r.Code), Reason: r.Reason,
		TookNs: int64(r.Took), BytesIn: r.BytesIn, BytesOut: r.BytesOut,
		Arguments: string(r.Arguments), Result: string(r.Result), Error: string(r.Error), Account: r.Account,
	}
}

// exportPage is the number of calls read at a time. Short reads do not block the checkpoint of the
// database's write-ahead log.
const exportPage = 200

// JSONL writes calls from newest to oldest as JSON Lines, one JSON object per line. q.Limit is the
// maximum number of calls; 0 means all.
func JSONL(ctx context.Context, w io.Writer, calls Calls, q store.Query) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return forEachCall(ctx, calls, q, func(r *store.Record) error { return e.Encode(newRow(r)) })
}

// CSV writes calls from newest to oldest as CSV with a header row. q.Limit is the maximum number
// of calls; 0 means all. A cell that a spreadsheet would interpret as a formula is prefixed with
// an apostrophe.
func CSV(ctx context.Context, w io.Writer, calls Calls, q store.Query) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvColumns); err != nil {
		return err
	}
	err := forEachCall(ctx, calls, q, func(r *store.Record) error {
		cells := newRow(r).cells()
		for i := range cells {
			cells[i] = escapeCell(cells[i])
		}
		return out.Write(cells)
	})
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	return err
}

// escapeCell returns a cell that spreadsheets do not interpret as a formula, and without NUL
// characters, at which some CSV readers stop.
func escapeCell(cell string) string {
	cell = strings.ReplaceAll(cell, "\x00", "\ufffd")
	if cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) || strings.HasPrefix(cell, "＝") || strings.HasPrefix(cell, "＋") || strings.HasPrefix(cell, "－") || strings.HasPrefix(cell, "＠") {
		return "'" + cell
	}
	return cell
}

// forEachCall calls f with at most q.Limit calls, from newest to oldest; 0 means all.
func forEachCall(ctx context.Context, calls Calls, q store.Query, f func(*store.Record) error) error {
	left := q.Limit
	for {
		q.Limit = exportPage
		if left > 0 {
			q.Limit = min(left, exportPage)
		}
		page, next, err := calls.Calls(ctx, q)
		if err != nil {
			return err
		}
		for i := range page {
			r, err := calls.Call(ctx, page[i].ID)
			if core.CodeOf(err) == core.CodeNotFound {
				continue // deleted in the meantime
			} else if err != nil {
				return err
			}
			if err := f(r); err != nil {
				return err
			}
		}
		if left > 0 {
			if left -= len(page); left <= 0 {
				return nil
			}
		}
		if next == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		q.Before = next
	}
}

// RecordingSource reads what a recording consists of. *store.Store implements it.
type RecordingSource interface {
	Calls
	// LastCatalog returns what a server listed last, or nil.
	LastCatalog(ctx context.Context, server string) (*core.Catalog, error)
	// RedactJSON returns JSON text without the secrets that are removed from recorded calls.
	RedactJSON(text []byte) []byte
}

// ReadRecording returns the calls that q selects as a recording of the server q.Server, with the
// catalog that the server listed last, without secrets. Responses that were redacted or truncated
// become unavailable; calls without a response, or with such arguments, are skipped and counted. If
// q has no account, all calls must have used the same one, because results of several accounts must
// not be mixed.
func ReadRecording(ctx context.Context, from RecordingSource, q store.Query) (*cassette.Recording, error) {
	catalog, err := from.LastCatalog(ctx, q.Server)
	if err != nil {
		return nil, err
	}
	if catalog == nil {
		return nil, &core.Error{Code: core.CodeNotFound, Message: "no tools are known for this server",
			Hint: "Start it with \"drawbridge start\", or list the servers with \"drawbridge status\"."}
	}
	r := &cassette.Recorder{}
	r.Header = cassette.Header{
		Version: cassette.Version, Server: q.Server, ServerInfo: catalog.Info, Instructions: catalog.Instructions,
		Tools: definitions(catalog.Tools), Prompts: definitions(catalog.Prompts),
		Resources: definitions(catalog.Resources), ResourceTemplates: definitions(catalog.Templates),
	}
	if err := r.Header.Redact(from.RedactJSON); err != nil {
		return nil, err
	}
	ids, err := recordedRequests(ctx, from, q)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		full, err := from.Call(ctx, id)
		if core.CodeOf(err) == core.CodeNotFound {
			continue // deleted in the meantime
		} else if err != nil {
			return nil, err
		}
		call, ok := recordedCall(full)
		if !ok {
			r.End.Skipped++
			continue
		}
		if err := r.Add(call); err != nil {
			return nil, &core.Error{Code: core.CodeValidation, Message: err.Error()}
		}
	}
	if len(r.Calls) == 0 {
		return nil, &core.Error{Code: core.CodeNotFound, Message: "none of the recorded calls can be replayed",
			Hint: "\"drawbridge history\" shows what is recorded."}
	}
	return &r.Recording, nil
}

func definitions(items []core.Item) []json.RawMessage {
	list := make([]json.RawMessage, len(items))
	for i := range items {
		list[i] = items[i].Raw
	}
	return list
}

// recordedRequests returns the ids of the calls that a cassette may contain, oldest first.
func recordedRequests(ctx context.Context, from Calls, q store.Query) (ids []int64, err error) {
	account, first := q.Account, ""
	if account == core.DefaultAccount {
		q.Account = "" // calls of the time before the server had accounts have none
	}
	for q.Limit = store.MaxLimit; ; {
		page, next, err := from.Calls(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page {
			c := &page[i]
			used := cmp.Or(c.Account, core.DefaultAccount)
			if _, of := recordedRequest(c); of == "" || c.FromServer || account != "" && used != account {
				continue
			}
			if first = cmp.Or(first, used); used != first {
				return nil, &core.Error{Code: core.CodeValidation, Message: fmt.Sprintf("the recorded calls used several accounts of the server, such as %q and %q", used, first),
					Hint: "Choose one with --account, or with \"from\": {\"account\": \"NAME\"} in the configuration."}
			}
			ids = append(ids, c.ID)
		}
		if next == 0 || len(ids) > 2*cassette.MaxCalls { // ReadRecording reports that there are too many
			slices.Reverse(ids)
			return ids, ctx.Err()
		}
		q.Before = next
	}
}

// recordedCall returns false for a call that cannot be served.
func recordedCall(r *store.Record) (c cassette.Call, ok bool) {
	if r.ArgumentsCut != nil || redacted(r.Arguments) || redacted([]byte(r.Name)) || len(r.Result)+len(r.Error) == 0 && r.ReplyCut == nil {
		return c, false
	}
	c = cassette.Call{TookMs: (r.Took - r.Queued).Milliseconds(), Arguments: string(r.Arguments)}
	switch r.Method {
	case "tools/call":
		c.Tool = r.Name
	case "prompts/get":
		c.Prompt = r.Name
	default:
		c.Resource, c.Arguments = r.Name, ""
	}
	switch {
	case r.ReplyCut != nil:
		c.Unavailable = cassette.Truncated
	case redacted(r.Result) || redacted(r.Error):
		c.Unavailable = cassette.Redacted
	default:
		c.Result, c.Error = string(r.Result), string(r.Error)
		for _, n := range r.ProgressLog {
			if !redacted(n.Params) {
				c.Progress = append(c.Progress, cassette.Progress{AfterMs: n.AfterMs, Params: string(n.Params)})
			}
		}
	}
	return c, true
}

func redacted(text []byte) bool { return strings.Contains(string(text), redact.Mark) }
