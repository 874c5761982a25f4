package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Facets contains the values by which the calls of a query can be filtered, each with its number
// of calls. The counts of one kind of value ignore the query's filter on that kind and apply all
// others.
type Facets struct {
	Total    int64
	Servers  []Facet
	Tools    []Facet
	Clients  []Facet
	Outcomes []Facet
	// Newest is not 0 if only the newest Newest calls were counted. Otherwise, the counts are
	// computed from rollups and cover full hours, or full minutes within the last 48 h.
	Newest int
}

// Facet is one value and its number of calls.
type Facet struct {
	Value  string
	Server string // server that provides the tool; only for tools
	Calls  int64
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
	q.late = s.late.Load()
	t := &tally{q: q, servers: map[string]int64{}, tools: map[target]int64{}, clients: map[string]int64{}, outcomes: map[core.Outcome]int64{}}
	out := &Facets{}
	err := s.query(ctx, func(ctx context.Context, h *handle) (err error) {
		if t.names, err = loadNames(ctx, h.read); err != nil {
			return err
		}
		if q.fromRollups() {
			return t.countFromRollups(ctx, s, h, s.opts.Now())
		}
		out.Newest, err = t.countFromCalls(ctx, s, h)
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
		*list = slices.DeleteFunc(*list, func(f Facet) bool { return f.Calls == 0 })
		slices.SortFunc(*list, func(x, y Facet) int {
			return cmp.Or(-cmp.Compare(x.Calls, y.Calls), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Value, y.Value))
		})
		*list = (*list)[:min(len(*list), maxFacets)]
	}
	return out, nil
}

func (t *tally) countFromRollups(ctx context.Context, st *Store, h *handle, now time.Time) error {
	from, to := t.q.From, t.q.To
	var oldest int64 // rollups are kept longer than calls
	if err := h.read.QueryRowContext(ctx, `SELECT coalesce(min(id), 0) FROM call`).Scan(&oldest); err != nil {
		return err
	}
	if first := time.UnixMicro(oldest); from.Before(first) {
		from = first
	}
	if to.IsZero() {
		to = now
	}
	past, open := splitClosed(spanRanges(from, to, now), now)
	key, gen := rangesKey(past), st.rollupGen.Load() // load the generation before reading, so that a concurrent change invalidates the result
	done := st.counts.get(key, gen)
	if done == nil {
		done = &counts{}
		if err := done.read(ctx, h.read, past); err != nil {
			return err
		}
		if len(*done) <= maxCachedResults {
			st.counts.put(key, gen, done)
		}
	}
	fresh := counts{}
	if err := fresh.read(ctx, h.read, open); err != nil {
		return err
	}
	for _, all := range []counts{*done, fresh} {
		for p, one := range all {
			for i, n := range one {
				if n > 0 {
					t.add(p.target, p.client, outcomeNames[i+1], n)
				}
			}
		}
	}
	return nil
}

// counts holds the number of calls by outcome for each target and client, summed over all spans.
type counts map[struct{ target, client int64 }]*[6]int64

func (c counts) read(ctx context.Context, db queryer, ranges []spanRange) error {
	return eachCount(ctx, db, ranges, func(target, client int64, outcomes [6]int64) {
		key := struct{ target, client int64 }{target, client}
		one := c[key]
		if one == nil {
			one = new([6]int64)
			c[key] = one
		}
		for i, n := range outcomes {
			one[i] += n
		}
	})
}

// countFromCalls counts the newest calls one by one. It returns the number of calls examined,
// FacetHits if there may be more.
func (t *tally) countFromCalls(ctx context.Context, st *Store, h *handle) (int, error) {
	q := t.q
	q.Server, q.Tool, q.Client, q.Outcome = "", "", "", ""
	where, args, err := conditions(ctx, h.read, q)
	if err != nil || where == nil {
		return 0, err
	}
	if q.Text == "" {
		n, err := t.countRows(ctx, h, `call c`, nil, where, args, ` ORDER BY c.id DESC LIMIT ?`, FacetHits)
		return min(n, FacetHits), err
	}
	words := parseWords(q.Text)
	if len(words) == 0 {
		return 0, nil
	}
	after, before := q.bounds()
	if before <= 0 {
		before = 1 << 62
	}
	fresh, oldest, err := st.pendingHits(ctx, h.read, words, after, before)
	if err != nil {
		return 0, err
	}
	list := make([]byte, 0, 20*len(fresh))
	for _, id := range fresh {
		list = appendID(list, id)
	}
	if _, err := t.countRows(ctx, h, `json_each(?) f CROSS JOIN call c ON c.id = f.value`, []any{"[" + string(list) + "]"}, where, args, ``); err != nil {
		return 0, err
	}
	// Hits of the full-text index. It may have indexed some of the pending calls in the meantime.
	hits := `(SELECT rowid AS id FROM search WHERE search MATCH ? AND rowid < ? AND rowid > ? AND rowid NOT IN (SELECT value FROM json_each(?)) ORDER BY rowid DESC LIMIT ?) f`
	bound := []any{ftsQuery(words), before, max(after, oldest), "[" + string(list) + "]", FacetHits - len(fresh)}
	n, err := t.countRows(ctx, h, hits+` CROSS JOIN call c ON c.id = f.id`, bound, where, args, ``)
	if err != nil {
		return 0, err
	}
	if len(where) > 0 && n+len(fresh) < FacetHits { // the filters rejected some hits
		if err := h.read.QueryRowContext(ctx, `SELECT count(*) FROM `+hits, bound...).Scan(&n); err != nil {
			return 0, err
		}
	}
	return min(n+len(fresh), FacetHits), nil
}

// countRows counts the calls selected from source that match the conditions in where, and returns
// their number.
func (t *tally) countRows(ctx context.Context, h *handle, source string, before []any, where []string, args []any, rest string, after ...any) (n int, err error) {
	stmt := `SELECT c.target_id, c.client_id, c.outcome FROM ` + source
	if len(where) > 0 {
		stmt += ` WHERE ` + strings.Join(where, ` AND `)
	}
	rows, err := h.read.QueryContext(ctx, stmt+rest, slices.Concat(before, args, after)...)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var target, client int64
		var outcome int
		if err := rows.Scan(&target, &client, &outcome); err != nil {
			return 0, err
		}
		n++
		t.add(target, client, outcomeNames[outcome], 1)
	}
	return n, rows.Err()
}
