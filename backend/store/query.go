package store

import (
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Query asks for calls. The zero Query asks for the newest ones.
type Query struct {
	Before    int64     // only calls with a smaller id; 0: from the newest on
	From, To  time.Time // only calls that began in this range; To is not in it; zero: no bound
	Server    string    // server id
	Client    string    // name of the application, or of its token
	Tool      string    // name of a tool or prompt, or URI of a resource
	Outcome   core.Outcome
	Session   string
	Workspace string // the folder that the client worked in
	Tag       string
	MinTook   time.Duration // 0: no bound
	MaxTook   time.Duration
	// Text is words, all of which must be in names, reason, arguments or reply. Upper and
	// lower case are alike; word* is the beginning of a word.
	Text  string
	Limit int // most calls to return; 0: 100; more than 500 counts as 500

	late *lateRange // set by the Store
}

// bounds are the ids between which the calls lie; 0: no bound. Where calls are moved,
// others lie there too.
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

// Check returns a *core.Error that names the field which is not as it must be, or nil.
func (q *Query) Check() error {
	if _, ok := outcomes[q.Outcome]; !ok && q.Outcome != "" {
		return invalid("outcome", "must be one of ok, tool_error, protocol_error, timeout, cancelled, rejected")
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

// narrow says that nothing but time, server, tool, client and outcome is asked for:
// what sums can answer.
func (q *Query) narrow() bool {
	return q.Text == "" && q.Session == "" && q.Workspace == "" && q.Tag == "" && q.MinTook == 0 && q.MaxTook == 0
}
