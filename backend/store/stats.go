package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store/histogram"
)

// Lengths of the time spans of rollups, in seconds.
const (
	minute = 60
	hour   = 3600
	day    = 86400
)

// Retention of rollups. Hourly rollups are kept as long as calls, and at least for hourRetention.
const (
	minuteRetention = 48 * time.Hour
	hourRetention   = 62 * 24 * time.Hour
	dayRetention    = 400 * 24 * time.Hour
)

// rollupKey is the primary key of the table rollup.
type rollupKey struct {
	span, at       int64
	target, client int64
}

// numOutcomes is the number of outcomes that rollups count: those of calls, and outcomeUnavailable.
const numOutcomes = 7

type sum struct {
	outcomes [numOutcomes]int64 // number of calls by outcome, in the order of the numbers in outcomes, beginning with ok
	took     int64              // nanoseconds spent in the server: without the time in which a call waited for the user or a free slot
	last     int64              // microseconds since 1970
	size     resultSize
	bins     histogram.Histogram
}

func (s *sum) calls() (n int64) {
	for _, c := range s.outcomes {
		n += c
	}
	return n
}

// errors counts neither what the user cancelled nor what the policy rejected.
func (s *sum) errors() int64 {
	return s.calls() - s.outcomes[0] - s.outcomes[outcomes[core.OutcomeCancelled]-1] - s.rejected()
}

func (s *sum) rejected() int64 { return s.outcomes[outcomes[core.OutcomeRejected]-1] }

// add adds a call n times. n is -1 to subtract it: repeated and blank are not known of single calls,
// so that they then shrink in proportion.
func (s *sum) add(at int64, outcome int, took time.Duration, size resultSize, n int64) {
	if outcome >= 1 && outcome <= len(s.outcomes) {
		s.outcomes[outcome-1] = max(s.outcomes[outcome-1]+n, 0)
	}
	s.took = max(s.took+n*int64(took), 0)
	if n > 0 {
		s.last = max(s.last, at)
	}
	s.bins.Add(took, n)
	if n < 0 && s.size.bytes > 0 {
		gone := min(float64(size.bytes)/float64(s.size.bytes), 1)
		size.repeated, size.blank = int64(gone*float64(s.size.repeated)), int64(gone*float64(s.size.blank))
	}
	s.size.add(size, n)
}

func decodeOutcomes(blob []byte) (outcomes [numOutcomes]int64) {
	for i := range outcomes {
		n, size := binary.Uvarint(blob)
		if size <= 0 {
			break
		}
		outcomes[i] = int64(n)
		blob = blob[size:]
	}
	return outcomes
}

func (s *sum) encodeOutcomes() []byte {
	out := make([]byte, 0, 12)
	for _, n := range s.outcomes {
		out = binary.AppendUvarint(out, uint64(n))
	}
	return out
}

type rollupRow struct {
	at, target, client int64
	took, last         int64
	size               resultSize
	outcomes           [numOutcomes]int64
	bins               []histogram.BinCount
}

func (s *sum) mergeRow(r *rollupRow) {
	for i, n := range r.outcomes {
		s.outcomes[i] += n
	}
	s.took += r.took
	s.last = max(s.last, r.last)
	s.bins.AddBins(r.bins)
	s.size.add(r.size, 1)
}

// eachRollup calls f with each rollup in ranges. The row is valid until f returns.
func eachRollup(ctx context.Context, db queryer, ranges []spanRange, f func(*rollupRow)) error {
	var r rollupRow
	var outcomes, bins sql.RawBytes
	return eachSpan(ctx, db, ranges, `at, target_id, client_id, outcomes, took_ns, last_at, bins, result_bytes, repeated_bytes, blank_bytes`, func(row scanner) error {
		err := row.Scan(&r.at, &r.target, &r.client, &outcomes, &r.took, &r.last, &bins, &r.size.bytes, &r.size.repeated, &r.size.blank)
		if err == nil {
			r.outcomes, r.bins = decodeOutcomes(outcomes), histogram.Decode(r.bins[:0], bins)
			f(&r)
		}
		return err
	})
}

// eachCount calls f with the number of calls by outcome of each rollup in ranges. It does not
// decode histograms.
func eachCount(ctx context.Context, db queryer, ranges []spanRange, f func(target, client int64, outcomes [numOutcomes]int64)) error {
	var target, client int64
	var outcomes sql.RawBytes
	return eachSpan(ctx, db, ranges, `target_id, client_id, outcomes`, func(row scanner) error {
		err := row.Scan(&target, &client, &outcomes)
		if err == nil {
			f(target, client, decodeOutcomes(outcomes))
		}
		return err
	})
}

func eachSpan(ctx context.Context, db queryer, ranges []spanRange, columns string, f func(scanner) error) error {
	for _, p := range ranges {
		if err := eachRow(ctx, db, f, `SELECT `+columns+` FROM rollup WHERE span = ? AND at >= ? AND at < ?`, p.span, p.from, p.to); err != nil {
			return err
		}
	}
	return nil
}

// rollups collects the changes that one transaction makes to the table rollup.
type rollups map[rollupKey]*countedCall

type countedCall struct {
	at      int64
	outcome int
	took    time.Duration
	size    resultSize
	n       int64
	next    *countedCall
}

// count adds a call.
func (r rollups) count(refs *callRefs, c *core.Call, size resultSize) {
	if c.Method == core.PreviewMethod {
		return
	}
	r.countOutcome(refs.target, refs.client, c.At.UnixMicro(), countedOutcome(outcomes[c.Outcome], c.Code), c.Took-c.Queued, size, 1)
}

// countOutcome adds a call n times. at is in microseconds since 1970.
func (r rollups) countOutcome(target, client, at int64, outcome int, took time.Duration, size resultSize, n int64) {
	seconds := at / 1_000_000
	for _, span := range []int64{minute, hour, day} {
		k := rollupKey{span, seconds - seconds%span, target, client}
		r[k] = &countedCall{at, outcome, took, size, n, r[k]}
	}
}

// save writes the collected changes. It omits minutes that are older than minuteRetention.
func (r rollups) save(ctx context.Context, tx *transaction, now time.Time) error {
	if len(r) == 0 {
		return nil
	}
	find, err := tx.PrepareContext(ctx, `SELECT outcomes, took_ns, last_at, bins, result_bytes, repeated_bytes, blank_bytes FROM rollup WHERE span = ? AND at = ? AND target_id = ? AND client_id = ?`)
	if err != nil {
		return err
	}
	defer func() { _ = find.Close() }()
	put, err := tx.PrepareContext(ctx, `INSERT INTO rollup (span, at, target_id, client_id, outcomes, took_ns, last_at, bins, result_bytes, repeated_bytes, blank_bytes) VALUES (?,?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT DO UPDATE SET outcomes = excluded.outcomes, took_ns = excluded.took_ns, last_at = excluded.last_at, bins = excluded.bins,
			result_bytes = excluded.result_bytes, repeated_bytes = excluded.repeated_bytes, blank_bytes = excluded.blank_bytes`)
	if err != nil {
		return err
	}
	defer func() { _ = put.Close() }()
	oldest := now.Add(-minuteRetention).Unix()
	for k, one := range r {
		if k.span == minute && k.at < oldest {
			continue
		}
		var s sum
		var outcomes, bins []byte
		var took, last int64
		var size resultSize
		err := find.QueryRowContext(ctx, k.span, k.at, k.target, k.client).Scan(&outcomes, &took, &last, &bins, &size.bytes, &size.repeated, &size.blank)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err == nil {
			s.mergeRow(&rollupRow{took: took, last: last, size: size, outcomes: decodeOutcomes(outcomes), bins: histogram.Decode(nil, bins)})
		}
		for _, sign := range []int64{1, -1} { // what is subtracted may have been counted in the same transaction
			for c := one; c != nil; c = c.next {
				if c.n*sign > 0 {
					s.add(c.at, c.outcome, c.took, c.size, c.n)
				}
			}
		}
		if s.calls() == 0 {
			if _, err := tx.ExecContext(ctx, `DELETE FROM rollup WHERE span = ? AND at = ? AND target_id = ? AND client_id = ?`, k.span, k.at, k.target, k.client); err != nil {
				return err
			}
			continue
		}
		if _, err := put.ExecContext(ctx, k.span, k.at, k.target, k.client, s.encodeOutcomes(), s.took, s.last, s.bins.Encode(), s.size.bytes, s.size.repeated, s.size.blank); err != nil {
			return err
		}
	}
	return nil
}

// deleteOldRollups deletes rollups that are older than their retention.
func deleteOldRollups(ctx context.Context, db *sql.DB, now time.Time, age time.Duration) error {
	for span, keep := range map[int64]time.Duration{minute: minuteRetention, hour: max(hourRetention, age), day: max(dayRetention, age)} {
		if _, err := db.ExecContext(ctx, `DELETE FROM rollup WHERE span = ? AND at < ?`, span, now.Add(-keep).Unix()); err != nil {
			return err
		}
	}
	return nil
}

// spanRange is a range of rollups with the same span length: from is inclusive, to is exclusive,
// both in seconds since 1970.
type spanRange struct{ span, from, to int64 }

// spanRanges returns the ranges that cover a time range with the fewest rows: whole days in its
// middle, hours around them, and minutes where they are still stored. The time range is widened to
// full hours, or to full minutes within the last 48 h.
func spanRanges(from, to, now time.Time) []spanRange {
	f, t := from.Unix(), to.Unix()
	if to.Nanosecond() > 0 {
		t++
	}
	if !to.Before(now) { // there are no later calls, so the rollup of today can be used
		t += (day - t%day) % day
	}
	fine := now.Add(-minuteRetention).Unix()
	fine += hour - fine%hour // the first hour for which all minutes are stored
	unit := func(at int64) int64 {
		if at >= fine {
			return minute
		}
		return hour
	}
	f -= f % unit(f)
	if over := t % unit(t); over > 0 {
		t += unit(t) - over
	}
	var out []spanRange
	add := func(span, from, to int64) {
		if from >= to {
			return
		}
		if n := len(out); n > 0 && out[n-1].span == span && out[n-1].to == from {
			out[n-1].to = to
			return
		}
		out = append(out, spanRange{span, from, to})
	}
	for at := f; at < t; {
		switch {
		case at%day == 0 && at+day <= t:
			end := t - t%day
			add(day, at, end)
			at = end
		case at%hour == 0 && at+hour <= t:
			end := min(t-t%hour, at-at%day+day)
			add(hour, at, end)
			at = end
		case unit(at) == hour: // never ends within the hour, because t was widened
			add(hour, at, at+hour)
			at += hour
		default:
			end := min(t, at-at%hour+hour)
			add(minute, at, end)
			at = end
		}
	}
	return out
}

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
// those of servers, without the time in which calls waited, and off by at most 4.5 %.
type Use struct {
	Server, Tool  string
	Client, Token string
	At            time.Time // start of the interval; only in Series
	Calls, Errors int64
	Rejected      int64 // by the policy or the user; not errors
	P50, P95, P99 time.Duration
	Mean          time.Duration
	LastUsed      time.Time
	// ResultBytes is the size of the results, of which RepeatedBytes repeat structuredContent as text
	// and BlankBytes are white space.
	ResultBytes, RepeatedBytes, BlankBytes int64
}

func (s *sum) toUse(u Use) Use {
	u.Calls, u.Errors, u.Rejected = s.calls(), s.errors(), s.rejected()
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
func (s *calls) Usage(ctx context.Context, q UsageQuery) (*Usage, error) {
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
