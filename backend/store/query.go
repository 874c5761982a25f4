package store

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Query selects calls. The zero Query selects the newest calls.
type Query struct {
	Before    int64        // only calls with a smaller id; 0: no bound
	From, To  time.Time    // only calls that started at or after From and before To; zero: no bound
	Server    string       // server id
	Client    string       // name of the application, or name of its token
	Tool      string       // name of a tool or prompt, or URI of a resource
	Outcome   core.Outcome // or the state of a task that has not ended: TaskWorking, TaskInput or core.TaskExpired
	Session   string
	Workspace string // folder in which the client worked
	Account   string // of the server
	Tag       string
	Version   string        // version of the server, version of the package, or beginning of a definition's hash (8 characters)
	MinTook   time.Duration // 0: no bound; the same for MaxTook
	MaxTook   time.Duration
	// Text contains words that must all occur in the names, reason, arguments or reply of a call.
	// Case is ignored; word* matches words with this prefix.
	Text  string
	Limit int // maximum number of calls; 0: 100; values over 500 count as 500

	late *clockSetBackRange // set by the Store; now too
	now  time.Time
}

// bounds returns the exclusive bounds of the ids of the calls; 0 means no bound. If there are late
// calls, the bounds may include calls that started outside the time range.
func (q *Query) bounds() (after, before int64) {
	before = q.Before
	if !q.To.IsZero() {
		edge := q.To.UnixMicro()
		if q.late != nil {
			edge = max(edge, q.late.last+1)
		}
		if before == 0 || edge < before {
			before = edge
		}
	}
	if !q.From.IsZero() {
		after = q.From.UnixMicro() - 1
	}
	return after, before
}

// Check validates the query. It returns a *core.Error that names the invalid field, or nil.
func (q *Query) Check() error {
	if _, ok := outcomes[q.Outcome]; !ok && q.Outcome != "" && !isOpenTaskState(q.Outcome) {
		return invalid("outcome", "must be one of ok, tool_error, protocol_error, timeout, cancelled, rejected, working, input_required, expired")
	}
	if utf8.RuneCountInString(q.Text) > MaxText {
		return tooLong("q", MaxText)
	}
	if !q.From.IsZero() && !q.To.IsZero() && q.To.Before(q.From) {
		return invalid("to", "must not be before 'from'")
	}
	if q.MaxTook > 0 && q.MaxTook < q.MinTook {
		return invalid("maxTookNs", "must not be less than 'minTookNs'")
	}
	return nil
}

// fromRollups reports whether the query filters only by time, server, tool, client and outcome, so
// that rollups can answer it.
func (q *Query) fromRollups() bool {
	return q.Text == "" && q.Session == "" && q.Workspace == "" && q.Account == "" && q.Tag == "" && q.Version == "" && q.MinTook == 0 && q.MaxTook == 0
}

// tooLong returns a validation error for a field with more than most characters.
func tooLong(field string, most int) *core.Error {
	return &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
		Fields: []core.FieldError{{Field: field, Error: fmt.Sprintf("must be at most %d characters long", most)}}}
}

func invalid(field, what string) *core.Error {
	return &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: field, Error: what}}}
}
