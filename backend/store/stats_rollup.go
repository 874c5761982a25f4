package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
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

// sum is the aggregate of a set of calls.
type sum struct {
	outcomes [6]int64 // number of calls by outcome, in the order of the numbers in outcomes, beginning with ok
	took     int64    // nanoseconds
	last     int64    // microseconds since 1970
	size     resultSize
	bins     histogram.Histogram
}

func (s *sum) calls() (n int64) {
	for _, c := range s.outcomes {
		n += c
	}
	return n
}

func (s *sum) errors() int64 { return s.calls() - s.outcomes[0] }

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

func decodeOutcomes(blob []byte) (outcomes [6]int64) {
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

// rollupRow is a decoded row of the table rollup.
type rollupRow struct {
	at, target, client int64
	took, last         int64
	size               resultSize
	outcomes           [6]int64
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
func eachCount(ctx context.Context, db queryer, ranges []spanRange, f func(target, client int64, outcomes [6]int64)) error {
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

// eachSpan calls f with the columns of each rollup in ranges.
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

// count adds a call n times. at is in microseconds since 1970.
func (r rollups) count(target, client, at int64, outcome core.Outcome, took time.Duration, size resultSize, n int64) {
	r.countOutcome(target, client, at, outcomes[outcome], took, size, n)
}

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
