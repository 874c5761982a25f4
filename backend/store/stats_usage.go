package store

import (
	"cmp"
	"context"
	"database/sql"
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
}

func (s *sum) toUse(u Use) Use {
	u.Calls, u.Errors = s.calls(), s.errors()
	u.P50, u.P95, u.P99 = s.bins.percentile(0.50), s.bins.percentile(0.95), s.bins.percentile(0.99)
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
	rows, err := db.QueryContext(ctx, `SELECT t.id, coalesce(s.renamed, s.name), t.name, t.method FROM target t JOIN server s ON s.id = t.server_id`)
	if err != nil {
		return n, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		var t target
		if err := rows.Scan(&id, &t.server, &t.tool, &t.method); err != nil {
			return n, err
		}
		n.targets[id] = t
	}
	if err := rows.Err(); err != nil {
		return n, err
	}
	clients, err := db.QueryContext(ctx, `SELECT id, token, name, version FROM client`)
	if err != nil {
		return n, err
	}
	defer func() { _ = clients.Close() }()
	for clients.Next() {
		var id int64
		var c core.Client
		if err := clients.Scan(&id, &c.Token, &c.Name, &c.Version); err != nil {
			return n, err
		}
		n.clients[id] = c
	}
	return n, clients.Err()
}

// rollupRow is a decoded row of the table rollup. It is valid until the next row is read.
type rollupRow struct {
	at, target, client int64
	took, last         int64
	outcomes           [6]int64
	bins               []binCount
}

func (s *sum) mergeRow(r *rollupRow) {
	for i, n := range r.outcomes {
		s.outcomes[i] += n
	}
	s.took += r.took
	s.last = max(s.last, r.last)
	s.bins.addBins(r.bins)
}

// eachCount calls f with the number of calls by outcome of each rollup in ranges. It does not
// decode histograms.
func eachCount(ctx context.Context, db queryer, ranges []spanRange, f func(target, client int64, outcomes [6]int64)) error {
	for _, p := range ranges {
		err := func() error {
			rows, err := db.QueryContext(ctx, `SELECT target_id, client_id, outcomes FROM rollup WHERE span = ? AND at >= ? AND at < ?`, p.span, p.from, p.to)
			if err != nil {
				return err
			}
			defer func() { _ = rows.Close() }()
			var target, client int64
			var outcomes sql.RawBytes
			for rows.Next() {
				if err := rows.Scan(&target, &client, &outcomes); err != nil {
					return err
				}
				f(target, client, decodeOutcomes(outcomes))
			}
			return rows.Err()
		}()
		if err != nil {
			return err
		}
	}
	return nil
}

// eachRollup calls f with each rollup in ranges.
func eachRollup(ctx context.Context, db queryer, ranges []spanRange, f func(*rollupRow)) error {
	for _, p := range ranges {
		err := func() error {
			rows, err := db.QueryContext(ctx, `SELECT at, target_id, client_id, outcomes, took_ns, last_at, bins FROM rollup WHERE span = ? AND at >= ? AND at < ?`, p.span, p.from, p.to)
			if err != nil {
				return err
			}
			defer func() { _ = rows.Close() }()
			var r rollupRow
			var outcomes, bins sql.RawBytes
			for rows.Next() {
				if err := rows.Scan(&r.at, &r.target, &r.client, &outcomes, &r.took, &r.last, &bins); err != nil {
					return err
				}
				r.outcomes, r.bins = decodeOutcomes(outcomes), decodeBins(r.bins[:0], bins)
				f(&r)
			}
			return rows.Err()
		}()
		if err != nil {
			return err
		}
	}
	return nil
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
		gen := s.rollupGen.Load() // load the generation before reading, so that a concurrent change invalidates the result
		all, err := loadNames(ctx, h.read)
		if err != nil {
			return err
		}
		ranges := spanRanges(q.From, q.To, now)
		if len(ranges) > 0 {
			u.From = time.Unix(ranges[0].from, 0).UTC()
		}
		step := int64(u.SeriesFor / time.Second)
		past, open := splitClosed(ranges, now)
		key := rangesKey(past, q.Server, q.Tool, q.Client, step)
		done := s.usage.get(key, gen)
		if done == nil {
			done = newUsageSums(step)
			if err := done.read(ctx, h.read, all, q, past); err != nil {
				return err
			}
			if done.len() <= maxCachedResults {
				s.usage.put(key, gen, done)
			}
		}
		sums := newUsageSums(step)
		if err := sums.read(ctx, h.read, all, q, open); err != nil {
			return err
		}
		sums.addAll(done)
		sums.appendTo(u)
		return nil
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
