package builtin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// visible reports whether a client may see a call. Clients are identified by their token or, if
// no token is required, by the name that they declare.
func (o *Server) visible(who core.Client, c *core.Call) bool {
	if o.seesAll(who) {
		return true
	}
	if who.Token != "" {
		return c.Client.Token == who.Token
	}
	return c.Client.Token == "" && c.Client.Name == who.Name
}

func (o *Server) seesAll(who core.Client) bool {
	return o.o.SeesAll != nil && who.Token != "" && o.o.SeesAll(who.Token)
}

// restrictToClient restricts a query to the calls of a client. The results still have to be
// filtered by visible, because a client's declared name may equal the name of another client's
// token.
func (o *Server) restrictToClient(who core.Client, q store.Query) store.Query {
	switch {
	case o.seesAll(who):
	case who.Token != "":
		q.Client = who.Token
	default:
		q.Client = who.Name
	}
	return q
}

type callSummary struct {
	ID      string       `json:"id"`
	At      time.Time    `json:"at"`
	Client  string       `json:"client"`
	Server  string       `json:"server"`
	Tool    string       `json:"tool"`
	Outcome core.Outcome `json:"outcome"`
	Code    core.Code    `json:"code,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	TookMs  float64      `json:"tookMs"`
}

func summarizeCall(c *core.Call) callSummary {
	return callSummary{
		strconv.FormatInt(c.ID, 10), c.At, c.Client.Name, c.Server, c.Name, c.Outcome, c.Code, c.ReasonForClient(),
		float64(c.Took.Microseconds()) / 1000,
	}
}

// outcomes holds the outcomes that history_search accepts.
var outcomes = []core.Outcome{
	core.OutcomeOK, core.OutcomeToolError, core.OutcomeProtocolError, core.OutcomeTimeout, core.OutcomeCancelled, core.OutcomeRejected,
}

func (o *Server) search(ctx context.Context, who core.Client, arguments []byte) (any, error) {
	in := struct {
		Text    string       `json:"text"`
		Server  string       `json:"server"`
		Tool    string       `json:"tool"`
		Outcome core.Outcome `json:"outcome"`
		Before  string       `json:"before"`
		Limit   int          `json:"limit"`
	}{Limit: 20}
	if err := decodeArguments(arguments, &in); err != nil {
		return nil, err
	}
	if n := utf8.RuneCountInString(in.Text); n > store.MaxText {
		return nil, argumentError("text", fmt.Sprintf("is %d characters long; the maximum is %d", n, store.MaxText))
	}
	if in.Outcome != "" && !slices.Contains(outcomes, in.Outcome) {
		return nil, argumentError("outcome", fmt.Sprintf("must be one of %q", outcomes))
	}
	q := o.restrictToClient(who, store.Query{
		Text: in.Text, Server: in.Server, Tool: in.Tool, Outcome: in.Outcome, Limit: min(max(in.Limit, 1), 100),
	})
	if in.Before != "" {
		var err error
		if q.Before, err = strconv.ParseInt(in.Before, 10, 64); err != nil {
			return nil, argumentError("before", "is not the value of 'next' from a previous page")
		}
	}
	if o.isAnonymous(who) {
		return map[string]any{"calls": []callSummary{}, "next": ""}, nil
	}
	calls, next, err := o.o.History.Calls(ctx, q)
	if err != nil {
		return nil, err
	}
	list := []callSummary{}
	for i := range calls {
		unknown := calls[i].Code == core.CodeNotFound && calls[i].Server == "" // its text may tell that a profile hides it
		if o.visible(who, &calls[i]) && (in.Text == "" || !unknown || o.seesAll(who)) {
			list = append(list, summarizeCall(&calls[i]))
		}
	}
	more := ""
	if next > 0 {
		more = strconv.FormatInt(next, 10)
	}
	return map[string]any{"calls": list, "next": more}, nil
}

// isAnonymous reports whether a client is anonymous. An empty name in a query would match the calls
// of all clients.
func (o *Server) isAnonymous(who core.Client) bool { return who.Token == "" && who.Name == "" }

// maxCounted is the maximum number of calls that one statistics query reads.
const maxCounted = 20 * store.MaxLimit

// perToolStats holds the statistics of the calls of one tool.
type perToolStats struct {
	Server string  `json:"server"`
	Tool   string  `json:"tool"`
	Calls  int     `json:"calls"`
	Failed int     `json:"failed"`
	P50Ms  float64 `json:"p50Ms"`
	P95Ms  float64 `json:"p95Ms"`
	took   []time.Duration
}

func (o *Server) analytics(ctx context.Context, who core.Client, arguments []byte) (any, error) {
	in := struct {
		Hours  int    `json:"hours"`
		Server string `json:"server"`
	}{Hours: 24}
	if err := decodeArguments(arguments, &in); err != nil {
		return nil, err
	}
	since := o.o.Now().Add(-time.Duration(min(max(in.Hours, 1), 720)) * time.Hour)
	type key struct{ server, tool string }
	sums := map[key]*perToolStats{}
	q := o.restrictToClient(who, store.Query{Server: in.Server, Limit: store.MaxLimit})
	counted, complete := 0, o.isAnonymous(who)
	for !complete && counted < maxCounted {
		calls, next, err := o.o.History.Calls(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range calls {
			c := &calls[i]
			if c.At.Before(since) {
				complete = true
				break
			}
			counted++
			if !o.visible(who, c) || c.FromServer {
				continue
			}
			f := sums[key{c.Server, c.Name}]
			if f == nil {
				f = &perToolStats{Server: c.Server, Tool: c.Name}
				sums[key{c.Server, c.Name}] = f
			}
			f.Calls++
			if c.Outcome != core.OutcomeOK {
				f.Failed++
			}
			f.took = append(f.took, c.Took)
		}
		q.Before = next
		complete = complete || next == 0
	}
	list := []*perToolStats{}
	for _, f := range sums {
		slices.Sort(f.took)
		f.P50Ms, f.P95Ms = percentile(f.took, 50), percentile(f.took, 95)
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *perToolStats) int {
		if a.Calls != b.Calls {
			return b.Calls - a.Calls
		}
		return slices.Compare([]string{a.Server, a.Tool}, []string{b.Server, b.Tool})
	})
	return map[string]any{"since": since.UTC(), "complete": complete, "tools": list[:min(len(list), 200)]}, nil
}

// percentile returns a percentile of sorted durations, in milliseconds.
func percentile(sorted []time.Duration, percent int) float64 {
	at := (len(sorted)*percent + 99) / 100
	return float64(sorted[max(at-1, 0)].Microseconds()) / 1000
}
