package store

import (
	"cmp"
	"context"
	"database/sql"
	"strings"
	"time"
)

// RetentionLimits bounds the history. A zero field means its default; a negative one no bound.
type RetentionLimits struct {
	Age   time.Duration // 30 days
	Bytes int64         // 1 GB, of the database file
	Rows  int64         // no bound

	below int64     // in the place of Rows: ids below it go
	upTo  int64     // ids from it on stay; 0: none
	from  time.Time // Age counts from it; zero: from now
}

// tidyEvery is how often the history is brought within its bounds.
const tidyEvery = 30 * time.Second

// How many calls the first step of pruning deletes, and at most a later one. Together they
// cost less: about 20 ms is what a step should take, most of it for the index.
const (
	pruneRows     = 50
	pruneMostRows = 200
)

// pruneRest is how many times as long as a step took pruning rests after it, while few
// calls are written; while many are, it must not be slower than they come.
const pruneRest = 9

func (k *RetentionLimits) defaults() {
	if k.Age == 0 {
		k.Age = 30 * 24 * time.Hour
	}
	if k.Bytes == 0 {
		k.Bytes = 1_000_000_000
	}
}

// SetKeep changes the bounds; the next look at them deletes what is beyond.
func (s *Store) SetKeep(k RetentionLimits) {
	k.defaults()
	s.keep.Store(&k)
}

// runRetention keeps the history within its bounds until ctx ends.
func (s *Store) runRetention(ctx context.Context) {
	due := time.NewTicker(cmp.Or(s.timeouts.tidy, tidyEvery))
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
			s.enforceRetention(ctx)
		}
	}
}

// enforceRetention deletes the oldest calls beyond the bounds, in steps so small that no batch
// waits long behind one.
func (s *Store) enforceRetention(ctx context.Context) {
	k := *s.keep.Load()
	from, err := s.trustedNow(ctx)
	if err != nil {
		s.o.Log.Debug("Cannot prune history", "error", err)
		return
	}
	k.from = from
	rest := time.NewTimer(0)
	defer rest.Stop()
	for step := (stepSize{pruneRows, pruneMostRows}); ; {
		select {
		case <-rest.C:
		case <-ctx.Done():
			return
		}
		n, held, err := s.prune(ctx, k, step.rows)
		if err != nil {
			s.o.Log.Debug("Cannot prune history", "error", err)
			return
		}
		if n < int64(step.rows) {
			break
		}
		step.adjust(held)
		if s.recorder.busy() {
			rest.Reset(held)
		} else {
			rest.Reset(pruneRest * held)
		}
	}
	err = s.withHandle(func(h *handle) error {
		return forgetRollups(ctx, h.write, from, s.keep.Load().Age)
	})
	if err != nil {
		s.o.Log.Debug("Cannot prune the sums of the history", "error", err)
	}
	if err := s.enforceNameLimits(ctx); err != nil {
		s.o.Log.Debug("Cannot prune the names of the history", "error", err)
	}
	s.usage.expire()
	s.counts.expire()
	s.unindexed.forget()
}

// Prune brings the history within the bounds k at once, in steps between which calls
// are recorded. It returns how many calls it deleted.
func (s *Store) Prune(ctx context.Context, k RetentionLimits) (deleted int64, err error) {
	// The calls that are there now: with those that are recorded meanwhile it might never end.
	if k.upTo, err = s.edge(ctx, 0); err != nil {
		return 0, err
	}
	if k.Rows > 0 {
		if k.below, err = s.edge(ctx, k.Rows); err != nil {
			return 0, err
		}
		k.Rows = 0
	}
	for step := (stepSize{pruneRows, pruneMostRows}); ; {
		n, held, err := s.prune(ctx, k, step.rows)
		deleted += n
		if err == nil && n < int64(step.rows) {
			err = s.forgetNames(ctx)
			return deleted, err
		}
		if err != nil {
			return deleted, err
		}
		step.adjust(held)
		if err := ctx.Err(); err != nil {
			return deleted, err
		}
	}
}

// prune is one step. held is how long it held the file. Room that it makes is for new
// calls; packs gives back to the disk what is too much.
func (s *Store) prune(ctx context.Context, k RetentionLimits, rows int) (deleted int64, held time.Duration, err error) {
	if k.from.IsZero() {
		k.from = s.o.Now()
	}
	var began time.Time
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		began = time.Now()
		before, err := pruneBefore(ctx, tx, k)
		if err != nil {
			return err
		}
		if k.upTo > 0 {
			before = min(before, k.upTo)
		}
		gone, err := ids(ctx, tx, `SELECT id FROM call WHERE id < ? ORDER BY id LIMIT ?`, before, rows)
		if err == nil && len(gone) < rows && k.Age > 0 {
			var late []any
			late, err = s.late.Load().before(ctx, tx, k.from.Add(-k.Age), before, rows-len(gone))
			gone = append(gone, late...)
		}
		if err != nil || len(gone) == 0 {
			return err
		}
		deleted = int64(len(gone))
		names, err := deleteCalls(ctx, tx, gone, false)
		if names > 0 {
			s.renamed.Add(1)
		}
		return err
	})
	return deleted, time.Since(began), err
}

// pruneBefore returns the id below which calls are beyond the bounds.
func pruneBefore(ctx context.Context, tx *sql.Tx, k RetentionLimits) (int64, error) {
	const all = 1 << 62
	before := k.below
	if k.Age > 0 {
		before = max(before, k.from.Add(-k.Age).UnixMicro())
	}
	if k.Bytes > 0 {
		var used int64
		if err := tx.QueryRowContext(ctx, `SELECT (p.page_count - f.freelist_count) * s.page_size
			FROM pragma_page_count() p, pragma_freelist_count() f, pragma_page_size() s`).Scan(&used); err != nil {
			return 0, err
		}
		if used > k.Bytes {
			return all, nil // whatever is oldest
		}
	}
	if k.Rows > 0 {
		edge, err := edgeOf(ctx, tx, k.Rows)
		if err != nil {
			return 0, err
		}
		before = max(before, edge)
	}
	return before, nil
}

// edgeOf returns the id below which calls are beyond the newest so many.
func edgeOf(ctx context.Context, db queryer, rows int64) (int64, error) {
	found, err := ids(ctx, db, `SELECT id + 1 FROM call ORDER BY id DESC LIMIT 1 OFFSET ?`, rows)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].(int64), nil
}

func (s *Store) edge(ctx context.Context, rows int64) (edge int64, err error) {
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		edge, err = edgeOf(ctx, h.read, rows)
		return err
	})
	return edge, err
}

// deleteCalls deletes rows, and what search and packs have of them: with erase, so that
// nothing stays in the file. Their sums stay. The names of sessions that no call is left
// of go too; it returns how many.
func deleteCalls(ctx context.Context, tx *sql.Tx, gone []any, erase bool) (names int64, err error) {
	if err := removeFromIndex(ctx, tx, gone); err != nil {
		return 0, err
	}
	if err := removeFromBlocks(ctx, tx, gone, erase); err != nil {
		return 0, err
	}
	these := ` FROM call WHERE id IN (?` + strings.Repeat(`,?`, len(gone)-1) + `)`
	sessions, err := ids(ctx, tx, `SELECT DISTINCT session_id`+these+` AND session_id IS NOT NULL`, gone...)
	if err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, `DELETE`+these, gone...); err != nil || len(sessions) == 0 {
		return 0, err
	}
	res, err := tx.ExecContext(ctx, `DELETE FROM session WHERE id IN (?`+strings.Repeat(`,?`, len(sessions)-1)+`)
		AND NOT EXISTS (SELECT 1 FROM call WHERE session_id = session.id)`, sessions...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
