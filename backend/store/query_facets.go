package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store/fulltext"
)

// Facets contains the values by which the calls of a query can be filtered, each with its number
// of calls. The counts of one kind of value ignore the query's filter on that kind and apply all
// others.
type Facets struct {
	Total    int64   `json:"total"`
	Servers  []Facet `json:"servers" nullable:"false"`
	Tools    []Facet `json:"tools" nullable:"false"`
	Clients  []Facet `json:"clients" nullable:"false"`
	Outcomes []Facet `json:"outcomes" nullable:"false"`
	// Without NewestCounted, the counts are computed from rollups.
	NewestCounted int `json:"newest,omitempty" doc:"If set, only this many of the newest calls were counted; otherwise counts are per full hour, or per full minute within the last 48 h"`
}

// Facet is one value and its number of calls.
type Facet struct {
	Value  string `json:"value"`
	Server string `json:"server,omitempty" doc:"Server of a tool"`
	Calls  int64  `json:"calls"`
}

// maxFacets is the maximum number of values of one kind that are returned; values with more calls
// come first.
const maxFacets = 200

// tally accumulates the counts of all facets.
type tally struct {
	q        Query
	names    names
	total    int64
	servers  map[string]int64
	tools    map[target]int64
	clients  map[string]int64
	outcomes map[core.Outcome]int64
}

func (t *tally) add(targetID, clientID int64, outcome core.Outcome, n int64) {
	what, who := t.names.targets[targetID], t.names.clients[clientID]
	server := t.q.Server == "" || what.server == t.q.Server
	tool := t.q.Tool == "" || what.tool == t.q.Tool
	client := t.q.Client == "" || who.Name == t.q.Client || who.Token == t.q.Client
	ended := t.q.Outcome == "" || outcome == t.q.Outcome
	if tool && client && ended {
		t.servers[what.server] += n
	}
	if server && client && ended && what.tool != "" {
		t.tools[target{server: what.server, tool: what.tool}] += n
	}
	if server && tool && ended {
		t.clients[who.Name] += n
	}
	if server && tool && client {
		t.outcomes[outcome] += n
	}
	if server && tool && client && ended {
		t.total += n
	}
}

// Facets returns the counts for a query. It ignores Query.Before and Query.Limit.
func (s *Store) Facets(ctx context.Context, q Query) (*Facets, error) {
	q.Before = 0
	if err := q.Check(); err != nil {
		return nil, err
	}
	s.waitForRecent(ctx)
	q.late, q.now = s.lateCalls.Load(), s.opts.Now()
	if q.Text != "" {
		s.indexPending(ctx)
	}
	t := &tally{q: q, servers: map[string]int64{}, tools: map[target]int64{}, clients: map[string]int64{}, outcomes: map[core.Outcome]int64{}}
	out := &Facets{Servers: []Facet{}, Tools: []Facet{}, Clients: []Facet{}, Outcomes: []Facet{}}
	err := s.query(ctx, func(ctx context.Context, h *handle) (err error) {
		if t.names, err = loadNames(ctx, h.read); err != nil {
			return err
		}
		if q.fromRollups() {
			return t.countFromRollups(ctx, h.read, s.opts.Now())
		}
		out.NewestCounted, err = t.countFromCalls(ctx, h.read)
		return err
	})
	if err != nil {
		return nil, err
	}
	out.Total = t.total
	for name, n := range t.servers {
		out.Servers = append(out.Servers, Facet{Value: name, Calls: n})
	}
	for what, n := range t.tools {
		out.Tools = append(out.Tools, Facet{Value: what.tool, Server: what.server, Calls: n})
	}
	for name, n := range t.clients {
		out.Clients = append(out.Clients, Facet{Value: name, Calls: n})
	}
	for name, n := range t.outcomes {
		out.Outcomes = append(out.Outcomes, Facet{Value: string(name), Calls: n})
	}
	for _, list := range []*[]Facet{&out.Servers, &out.Tools, &out.Clients, &out.Outcomes} {
		*list = slices.DeleteFunc(*list, func(f Facet) bool { return f.Calls <= 0 })
		slices.SortFunc(*list, func(x, y Facet) int {
			return cmp.Or(-cmp.Compare(x.Calls, y.Calls), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Value, y.Value))
		})
		*list = (*list)[:min(len(*list), maxFacets)]
	}
	return out, nil
}

func (t *tally) countFromRollups(ctx context.Context, db queryer, now time.Time) error {
	from, to := t.q.From, t.q.To
	var oldest int64 // rollups are kept longer than calls
	if err := db.QueryRowContext(ctx, `SELECT coalesce(min(id), 0) FROM call`).Scan(&oldest); err != nil {
		return err
	}
	if first := time.UnixMicro(oldest); from.Before(first) {
		from = first
	}
	if to.IsZero() {
		to = now
	}
	if err := t.countOpenTasks(ctx, db, from, to); err != nil {
		return err
	}
	return eachCount(ctx, db, spanRanges(from, to, now), func(target, client int64, outcomes [6]int64) {
		for i, n := range outcomes {
			if n > 0 {
				t.add(target, client, outcomeNames[i+1], n)
			}
		}
	})
}

// MaxFacetCalls is the number of the newest calls from which Facets counts if rollups cannot answer
// the query.
const MaxFacetCalls = 10000

// countFromCalls counts the newest calls one by one. It returns the number of calls examined,
// MaxFacetCalls if there may be more.
func (t *tally) countFromCalls(ctx context.Context, db *sql.DB) (int, error) {
	q := t.q
	q.Server, q.Tool, q.Client, q.Outcome = "", "", "", ""
	where, args, by, err := conditions(ctx, db, q)
	if err != nil || where == nil {
		return 0, err
	}
	where, args = by.add("", where, args)
	if q.Text == "" {
		from, err := by.newestFrom(ctx, db, q, MaxFacetCalls)
		if err != nil {
			return 0, err
		}
		if from > 0 {
			where, args = append(where, `c.id > ?`), append(args, from)
		}
		n, err := t.countRows(ctx, db, `call c`, where, ` ORDER BY c.id DESC LIMIT ?`, append(args, MaxFacetCalls)...)
		if from > 0 {
			n = MaxFacetCalls // there are more
		}
		return n, err
	}
	words := fulltext.MatchExpression(q.Text)
	if words == "" {
		return 0, nil
	}
	after, before := q.bounds()
	if before == 0 {
		before = 1 << 62
	}
	const hits = `(SELECT rowid AS id FROM search WHERE search MATCH ? AND rowid < ? AND rowid > ? ORDER BY rowid DESC LIMIT ?) f`
	bound := []any{words, before, after, MaxFacetCalls}
	n, err := t.countRows(ctx, db, hits+` CROSS JOIN call c ON c.id = f.id`, where, ``, slices.Concat(bound, args)...)
	if err == nil && len(where) > 0 && n < MaxFacetCalls { // the filters rejected some hits
		err = db.QueryRowContext(ctx, `SELECT count(*) FROM `+hits, bound...).Scan(&n)
	}
	return n, err
}

// countRows counts the calls selected from source that match the conditions in where, and returns
// their number.
func (t *tally) countRows(ctx context.Context, db queryer, source string, where []string, rest string, args ...any) (n int, err error) {
	stmt := `SELECT c.target_id, c.client_id, c.outcome, iif(c.outcome = 1, coalesce((SELECT ` + openTaskState + ` FROM task o WHERE o.call_id = c.id AND o.ended = 0), ''), '') FROM ` + source
	if len(where) > 0 {
		stmt += ` WHERE ` + strings.Join(where, ` AND `)
	}
	err = eachRow(ctx, db, func(row scanner) error {
		var target, client int64
		var outcome int
		var open core.Outcome
		err := row.Scan(&target, &client, &outcome, &open)
		n++
		t.add(target, client, cmp.Or(open, outcomeNames[outcome]), 1)
		return err
	}, stmt+rest, append([]any{t.q.now.UnixMicro()}, args...)...)
	return n, err
}
