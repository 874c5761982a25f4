package history

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// HAR writes calls from newest to oldest as an HTTP Archive 1.2, which browser tools show as a
// timeline. Fields that have no meaning for a call are empty; the URL consists of server, method
// and name. q.Limit is the maximum number of calls; 0 means all.
func HAR(ctx context.Context, w io.Writer, calls Calls, q store.Query) error {
	if _, err := io.WriteString(w, `{"log":{"version":"1.2","creator":{"name":"Drawbridge","version":""},"entries":[`); err != nil {
		return err
	}
	between := "\n"
	err := forEachCall(ctx, calls, q, func(r *store.Record) error {
		entry, err := json.Marshal(newHAREntry(r))
		if err != nil {
			return err
		}
		_, err = w.Write(append([]byte(between), entry...))
		between = ",\n"
		return err
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n]}}\n")
	return err
}

type harEntry struct {
	Started  time.Time   `json:"startedDateTime"`
	Time     float64     `json:"time"` // milliseconds, like all durations in HAR
	Request  harRequest  `json:"request"`
	Response harResponse `json:"response"`
	Cache    struct{}    `json:"cache"`
	Timings  harTimings  `json:"timings"`
	Call     harCall     `json:"_call"`
}

type harMessage struct {
	HTTPVersion string     `json:"httpVersion"`
	Headers     []struct{} `json:"headers"`
	Cookies     []struct{} `json:"cookies"`
	HeadersSize int        `json:"headersSize"` // -1: unknown
	BodySize    int        `json:"bodySize"`
}

type harRequest struct {
	Method string     `json:"method"`
	URL    string     `json:"url"`
	Query  []struct{} `json:"queryString"`
	Post   *harBody   `json:"postData,omitempty"`
	harMessage
}

type harResponse struct {
	Status     int     `json:"status"`
	StatusText string  `json:"statusText"`
	Redirect   string  `json:"redirectURL"`
	Content    harBody `json:"content"`
	harMessage
}

type harBody struct {
	Size int    `json:"size"`
	Type string `json:"mimeType"`
	Text string `json:"text"`
}

type harTimings struct {
	Blocked float64 `json:"blocked"`
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

// harCall contains the attributes of a call that have no equivalent in HTTP.
type harCall struct {
	ID        string `json:"id"`
	Client    string `json:"client"`
	Session   string `json:"session"`
	Workspace string `json:"workspace"`
	Account   string `json:"account,omitempty"`
	Outcome   string `json:"outcome"`
	Code      string `json:"code"`
	Reason    string `json:"reason"`
}

// harStatus returns the HTTP status that represents an outcome; tools choose the color of a line
// by it.
func harStatus(o core.Outcome) int {
	switch o {
	case core.OutcomeOK:
		return 200
	case core.OutcomeRejected:
		return 403
	case core.OutcomeTimeout:
		return 504
	case core.OutcomeCancelled:
		return 0
	}
	return 500
}

func newHAREntry(r *store.Record) harEntry {
	millis := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	queued := min(r.Queued, r.Took)
	message := func(size int) harMessage {
		return harMessage{HTTPVersion: "MCP", Headers: []struct{}{}, Cookies: []struct{}{}, HeadersSize: -1, BodySize: size}
	}
	row := newRow(r)
	e := harEntry{
		Started: row.At, Time: millis(r.Took), Timings: harTimings{Blocked: millis(queued), Wait: millis(r.Took - queued)},
		Request: harRequest{
			Method: "POST", URL: (&url.URL{Scheme: "mcp", Host: row.Server, Path: "/" + row.Method + "/" + row.Tool}).String(),
			Query: []struct{}{}, harMessage: message(row.BytesIn),
		},
		Response: harResponse{
			Status: harStatus(r.Outcome), StatusText: row.Outcome, harMessage: message(row.BytesOut),
			Content: harBody{row.BytesOut, "application/json", row.Result + row.Error},
		},
		Call: harCall{row.ID, row.Client, row.Session, row.Workspace, row.Account, row.Outcome, row.Code, row.Reason},
	}
	if row.Arguments != "" {
		e.Request.Post = &harBody{len(row.Arguments), "application/json", row.Arguments}
	}
	return e
}
