package history

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
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
