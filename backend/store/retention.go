package store

import (
	"cmp"
	"context"
	"time"
)

// RetentionLimits limits the history. A zero field means its default, a negative one means no
// limit.
type RetentionLimits struct {
	Age   time.Duration // maximum age of calls; default 30 days
	Bytes int64         // maximum size of the used part of the database file; default 1 GB
	Rows  int64         // maximum number of calls; default unlimited

	below int64 // if not 0, replaces Rows: delete calls with smaller ids
	upTo  int64 // if not 0, keep calls with this id or a greater one
}

// retentionInterval is the interval of retention runs.
const retentionInterval = 30 * time.Second

// Number of calls that the first step of pruning deletes, and the maximum for later steps. More
// calls per step cost less per call; a step should take about 20 ms, most of it for the full-text
// index.
const (
	firstPruneRows = 50
	maxPruneRows   = 200
)

// prunePauseFactor is the pause after a step of pruning, in multiples of its duration, while few
// calls are written. While many are written, pruning must not be slower than recording.
const prunePauseFactor = 9

func (k *RetentionLimits) defaults() {
	if k.Age == 0 {
		k.Age = 30 * 24 * time.Hour
	}
	if k.Bytes == 0 {
		k.Bytes = 1_000_000_000
	}
}

// SetRetentionLimits sets the retention limits. The next retention run deletes the calls beyond
// them.
func (s *Store) SetRetentionLimits(k RetentionLimits) {
	k.defaults()
	s.keep.Store(&k)
}

// runRetention enforces the retention limits until ctx is done.
func (s *Store) runRetention(ctx context.Context) {
	due := time.NewTicker(cmp.Or(s.timeouts.retention, retentionInterval))
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

// enforceRetention deletes the oldest calls beyond the limits, in steps that are short enough not
// to delay a batch.
func (s *Store) enforceRetention(ctx context.Context) {
	k := *s.keep.Load()
	trusted, err := s.checkClock(ctx, k.Age)
	if err == nil && !trusted {
		k.Age = -1
	}
	if err == nil {
		_, err = s.pruneInSteps(ctx, k, func(held time.Duration) time.Duration {
			if s.recorder.busy() {
				return held
			}
			return prunePauseFactor * held
		})
	}
	if err == nil && trusted {
		err = s.withHandle(func(h *handle) error { return deleteOldRollups(ctx, h.write, s.opts.Now(), k.Age) })
	}
	if err == nil {
		err = s.enforceNameLimits(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.opts.Log.Debug("Cannot prune history", "error", err)
	}
}

// Prune deletes the calls beyond the limits k immediately, in steps between which calls are
// recorded. The fields of k that are 0 set no limit. It returns the number of deleted calls, which
// may be greater than 0 even if err is not nil.
func (s *Store) Prune(ctx context.Context, k RetentionLimits) (deleted int64, err error) {
	// Only calls that exist now: with calls recorded in the meantime, this might never end.
	if k.upTo, err = s.boundaryID(ctx, 0); err != nil {
		return 0, err
	}
	if k.Rows > 0 {
		if k.below, err = s.boundaryID(ctx, k.Rows); err != nil {
			return 0, err
		}
		k.Rows = 0
	}
	deleted, err = s.pruneInSteps(ctx, k, func(time.Duration) time.Duration { return 0 })
	if err == nil {
		err = s.deleteUnusedNames(ctx)
	}
	return deleted, err
}

// pruneInSteps deletes the calls beyond the limits k. pause returns the pause after a step that
// held the write lock for the given time.
func (s *Store) pruneInSteps(ctx context.Context, k RetentionLimits, pause func(held time.Duration) time.Duration) (deleted int64, err error) {
	for step := (stepSize{firstPruneRows, maxPruneRows}); ; {
		n, held, err := s.prune(ctx, k, step.rows)
		deleted += n
		if err != nil || n < int64(step.rows) {
			return deleted, err
		}
		step.adjust(held)
		select {
		case <-time.After(pause(held)):
		case <-ctx.Done():
			return deleted, ctx.Err()
		}
	}
}

// prune performs one step, which deletes at most rows calls. held is the time for which it held
// the write lock. New calls reuse the freed space; runPacking returns surplus space to the file
// system.
func (s *Store) prune(ctx context.Context, k RetentionLimits, rows int) (deleted int64, held time.Duration, err error) {
	var began time.Time
	err = s.transact(ctx, func(ctx context.Context, tx *transaction) error {
		began = time.Now()
		expired := s.opts.Now().Add(-k.Age)
		before, err := pruneBefore(ctx, tx, k, expired)
		if err != nil {
			return err
		}
		if k.upTo > 0 {
			before = min(before, k.upTo)
		}
		gone, err := queryIDs(ctx, tx, `SELECT id FROM call WHERE id < ? ORDER BY id LIMIT ?`, before, rows)
		if err == nil && len(gone) < rows && k.Age > 0 {
			var late []any
			late, err = s.lateCalls.Load().expired(ctx, tx, expired, before, rows-len(gone))
			gone = append(gone, late...)
		}
		if err != nil || len(gone) == 0 {
			return err
		}
		deleted = int64(len(gone))
		names, err := deleteCalls(ctx, tx, gone, false)
		if names > 0 {
			s.namesGen.Add(1)
		}
		return err
	})
	return deleted, time.Since(began), err
}

// pruneBefore returns the id below which calls are beyond the limits. Calls that started before
// expired are too old.
func pruneBefore(ctx context.Context, tx *transaction, k RetentionLimits, expired time.Time) (int64, error) {
	const all = 1 << 62
	before := k.below
	if k.Age > 0 {
		before = max(before, expired.UnixMicro())
	}
	if k.Bytes > 0 {
		used, err := usedBytes(ctx, tx)
		if err != nil {
			return 0, err
		}
		if used > k.Bytes {
			return all, nil // the oldest calls, regardless of their age
		}
	}
	if k.Rows > 0 {
		edge, err := queryBoundaryID(ctx, tx, k.Rows)
		if err != nil {
			return 0, err
		}
		before = max(before, edge)
	}
	return before, nil
}

// usedBytes returns the size of the used part of the database file.
func usedBytes(ctx context.Context, db queryer) (used int64, err error) {
	err = db.QueryRowContext(ctx, `SELECT (p.page_count - f.freelist_count) * s.page_size
		FROM pragma_page_count() p, pragma_freelist_count() f, pragma_page_size() s`).Scan(&used)
	return used, err
}

// queryBoundaryID returns the id below which calls do not belong to the newest rows calls, or 0 if
// there are none.
func queryBoundaryID(ctx context.Context, db queryer, rows int64) (int64, error) {
	found, err := queryIDs(ctx, db, `SELECT id + 1 FROM call ORDER BY id DESC LIMIT 1 OFFSET ?`, rows)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].(int64), nil
}

func (s *Store) boundaryID(ctx context.Context, rows int64) (edge int64, err error) {
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		edge, err = queryBoundaryID(ctx, h.read, rows)
		return err
	})
	return edge, err
}

// deleteCalls deletes calls with their index entries and payloads. With erase, payloads are also
// overwritten in the blocks that remain. Rollups are not changed. It also deletes the names of
// sessions without calls, and returns their number.
func deleteCalls(ctx context.Context, tx *transaction, gone []any, erase bool) (names int64, err error) {
	if err := removeFromIndex(ctx, tx, gone); err != nil {
		return 0, err
	}
	if err := removeFromBlocks(ctx, tx, gone, erase); err != nil {
		return 0, err
	}
	these := ` FROM call WHERE id IN (` + placeholders(len(gone)) + `)`
	sessions, err := queryIDs(ctx, tx, `SELECT DISTINCT session_id`+these+` AND session_id IS NOT NULL`, gone...)
	if err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, `DELETE`+these, gone...); err != nil || len(sessions) == 0 {
		return 0, err
	}
	res, err := tx.ExecContext(ctx, `DELETE FROM session WHERE id IN (`+placeholders(len(sessions))+`)
		AND NOT EXISTS (SELECT 1 FROM call WHERE session_id = session.id)`, sessions...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
