package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// UsageQuery selects usage statistics of a time range. The range is widened to full hours, or to
// full minutes within the last 48 h. A range of 14 days or more starts at the beginning of a day
// (UTC), because the hourly rollups of a first partial day would be as many rows as two weeks of
// daily ones.
type UsageQuery struct {
	From, To time.Time // defaults: 24 h before To; now
	Server   string
	Tool     string
	Client   string // name of the application, or name of its token
}

// Usage contains the usage statistics of a time range.
type Usage struct {
	From, To  time.Time // the widened range
	Total     Use
	ByServer  []Use
	ByTool    []Use
	ByClient  []Use
	Series    []Use         // in chronological order, without intervals that have no calls
	SeriesFor time.Duration // length of an interval of Series
	Versions  []VersionStart
}

// Use contains the statistics of the calls of one server, tool, client or interval. Durations are
// off by at most 4.5 %.
type Use struct {
	Server, Tool  string
	Client, Token string
	At            time.Time // start of the interval; only in Series
	Calls, Errors int64
	P50, P95, P99 time.Duration
	Mean          time.Duration
	LastUsed      time.Time
	// ResultBytes is the size of the results, of which RepeatedBytes repeat structuredContent as text
	// and BlankBytes are white space.
	ResultBytes, RepeatedBytes, BlankBytes int64
}

func (s *sum) toUse(u Use) Use {
	u.Calls, u.Errors = s.calls(), s.errors()
	u.ResultBytes, u.RepeatedBytes, u.BlankBytes = s.size.bytes, s.size.repeated, s.size.blank
	u.P50, u.P95, u.P99 = s.bins.Percentile(0.50), s.bins.Percentile(0.95), s.bins.Percentile(0.99)
	if u.Calls == 1 { // the exact duration is known
		u.P50, u.P95, u.P99 = time.Duration(s.took), time.Duration(s.took), time.Duration(s.took)
	}
	if u.Calls > 0 {
		u.Mean = time.Duration(s.took / u.Calls)
	}
	if s.last > 0 {
		u.LastUsed = time.UnixMicro(s.last).UTC()
	}
	return u
}

// names maps the ids in the table rollup to names.
type names struct {
	targets map[int64]target
	clients map[int64]core.Client
}

type target struct{ server, tool, method string }

func (n names) matches(target, client int64, server, tool, name string) bool {
	t, c := n.targets[target], n.clients[client]
	return (server == "" || t.server == server) && (tool == "" || t.tool == tool) && (name == "" || c.Name == name || c.Token == name)
}

func loadNames(ctx context.Context, db queryer) (names, error) {
	n := names{make(map[int64]target), make(map[int64]core.Client)}
	err := eachRow(ctx, db, func(row scanner) error {
		var id int64
		var t target
		err := row.Scan(&id, &t.server, &t.tool, &t.method)
		n.targets[id] = t
		return err
	}, `SELECT t.id, coalesce(s.current_name, s.name), t.name, t.method FROM target t JOIN server s ON s.id = t.server_id`)
	if err != nil {
		return n, err
	}
	err = eachRow(ctx, db, func(row scanner) error {
		var id int64
		var c core.Client
		err := row.Scan(&id, &c.Token, &c.Name, &c.Version)
		n.clients[id] = c
		return err
	}, `SELECT id, token, name, version FROM client`)
	return n, err
}

// usageSums holds the aggregates from which a Usage is built.
type usageSums struct {
	step    int64 // length of an interval of series in seconds
	total   sum
	servers map[string]*sum
	tools   map[namePair]*sum
	clients map[namePair]*sum
	series  map[int64]*sum
}

type namePair struct{ a, b string }

// read adds the rollups in ranges that match q.
func (u *usageSums) read(ctx context.Context, db queryer, all names, q UsageQuery, ranges []spanRange) error {
	wide := slices.ContainsFunc(ranges, func(p spanRange) bool { return p.span > u.step })
	if wide { // series needs shorter spans than the totals
		err := eachRollup(ctx, db, seriesParts(ranges, u.step), func(r *rollupRow) {
			if all.matches(r.target, r.client, q.Server, q.Tool, q.Client) {
				sumFor(u.series, r.at-r.at%u.step).mergeRow(r)
			}
		})
		if err != nil {
			return err
		}
	}
	return eachRollup(ctx, db, ranges, func(r *rollupRow) {
		if !all.matches(r.target, r.client, q.Server, q.Tool, q.Client) {
			return
		}
		t, c := all.targets[r.target], all.clients[r.client]
		u.total.mergeRow(r)
		sumFor(u.servers, t.server).mergeRow(r)
		sumFor(u.tools, namePair{t.server, t.tool}).mergeRow(r)
		sumFor(u.clients, namePair{c.Name, c.Token}).mergeRow(r)
		if !wide {
			sumFor(u.series, r.at-r.at%u.step).mergeRow(r)
		}
	})
}

// sumFor returns the value of key and creates it if it does not exist.
func sumFor[K comparable](m map[K]*sum, key K) *sum {
	if m[key] == nil {
		m[key] = &sum{}
	}
	return m[key]
}

// appendTo appends the statistics to the lists of out, in random order.
func (u *usageSums) appendTo(out *Usage) {
	out.Total = u.total.toUse(Use{})
	for name, one := range u.servers {
		out.ByServer = append(out.ByServer, one.toUse(Use{Server: name}))
	}
	for p, one := range u.tools {
		out.ByTool = append(out.ByTool, one.toUse(Use{Server: p.a, Tool: p.b}))
	}
	for p, one := range u.clients {
		out.ByClient = append(out.ByClient, one.toUse(Use{Client: p.a, Token: p.b}))
	}
	for t, one := range u.series {
		out.Series = append(out.Series, one.toUse(Use{At: time.Unix(t, 0).UTC()}))
	}
}

// Usage returns counts, error counts and percentiles of a time range by server, tool and client,
// sorted by number of calls in descending order, and as a time series.
func (s *Store) Usage(ctx context.Context, q UsageQuery) (*Usage, error) {
	now := s.opts.Now()
	if q.To.IsZero() {
		q.To = now
	}
	if q.From.IsZero() {
		q.From = q.To.Add(-24 * time.Hour)
	}
	if q.To.Before(q.From) {
		return nil, invalid("to", "must not be before 'from'")
	}
	if q.To.Sub(q.From) >= dayAlignedRange {
		q.From = q.From.Truncate(day * time.Second)
	}
	s.waitForRecent(ctx)
	u := &Usage{From: q.From, To: q.To, SeriesFor: seriesStep(q.To.Sub(q.From))}
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		all, err := loadNames(ctx, h.read)
		if err != nil {
			return err
		}
		ranges := spanRanges(q.From, q.To, now)
		if len(ranges) > 0 {
			u.From = time.Unix(ranges[0].from, 0).UTC()
		}
		sums := usageSums{step: int64(u.SeriesFor / time.Second), servers: map[string]*sum{}, tools: map[namePair]*sum{}, clients: map[namePair]*sum{}, series: map[int64]*sum{}}
		if err := sums.read(ctx, h.read, all, q, ranges); err != nil {
			return err
		}
		sums.appendTo(u)
		u.Versions, err = versionStarts(ctx, h.read, u.From, q.To, q.Server)
		return err
	})
	for _, list := range [][]Use{u.ByServer, u.ByTool, u.ByClient} {
		slices.SortFunc(list, func(x, y Use) int {
			return cmp.Or(-cmp.Compare(x.Calls, y.Calls), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Tool, y.Tool), cmp.Compare(x.Client, y.Client), cmp.Compare(x.Token, y.Token))
		})
	}
	slices.SortFunc(u.Series, func(x, y Use) int { return x.At.Compare(y.At) })
	return u, err
}

// dayAlignedRange is the minimum length of a range that starts at the beginning of a day.
const dayAlignedRange = 14 * 24 * time.Hour

// seriesStep returns the length of an interval of Series for a time range.
func seriesStep(span time.Duration) time.Duration {
	switch {
	case span <= 3*time.Hour:
		return time.Minute
	case span <= 4*24*time.Hour:
		return time.Hour
	}
	return 24 * time.Hour
}

// seriesParts returns ranges whose spans are not longer than step. Where step is a minute and only
// hourly rollups are still stored, the series has no points.
func seriesParts(ranges []spanRange, step int64) []spanRange {
	var out []spanRange
	for _, p := range ranges {
		if p.span > step {
			p.span = step
		}
		out = append(out, p)
	}
	return out
}
