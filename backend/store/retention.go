package store

import (
	"cmp"
	"context"
	"database/sql"
	"strings"
	"time"
)

// Keep bounds the history. A zero field means its default; a negative one no bound.
type Keep struct {
	Age   time.Duration // 30 days
	Bytes int64         // 1 GB, of the database file
	Rows  int64         // no bound

	below int64 // in the place of Rows: ids below it go
	upTo  int64 // ids from it on stay; 0: none
}

// tidyEvery is how often the history is brought within its bounds.
const tidyEvery = 30 * time.Second

// pruneRows is how many calls one step deletes: it holds the writer for about 20 ms, most
// of them for the index.
const pruneRows = 50

func (k *Keep) defaults() {
	if k.Age == 0 {
		k.Age = 30 * 24 * time.Hour
	}
	if k.Bytes == 0 {
		k.Bytes = 1 << 30
	}
}

// SetKeep changes the bounds; the next look at them deletes what is beyond.
func (s *Store) SetKeep(k Keep) {
	k.defaults()
	s.keep.Store(&k)
}

// tidyUp keeps the history within its bounds until ctx ends.
func (s *Store) tidyUp(ctx context.Context) {
	due := time.NewTicker(cmp.Or(s.patience.tidy, tidyEvery))
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
			s.tidy(ctx)
		}
	}
}

// tidy deletes the oldest calls beyond the bounds, in steps so small that no batch
// waits long behind one.
func (s *Store) tidy(ctx context.Context) {
	const steps = 100
	for range steps {
		n, err := s.prune(ctx, *s.keep.Load(), pruneRows)
		if err != nil {
			s.o.Log.Debug("Cannot prune history", "error", err)
			return
		}
		if n < pruneRows || s.recorder.urgent() || ctx.Err() != nil {
			break
		}
	}
	err := s.use(func(h *handle) error {
		return forgetRollups(ctx, h.write, s.o.Now(), s.keep.Load().Age)
	})
	if err != nil {
		s.o.Log.Debug("Cannot prune the sums of the history", "error", err)
	}
	s.usage.forget()
	s.counts.forget()
	s.unknown.forget()
}

// Prune brings the history within the bounds k at once, in steps between which calls
// are recorded. It returns how many calls it deleted.
func (s *Store) Prune(ctx context.Context, k Keep) (deleted int64, err error) {
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
	for {
		n, err := s.prune(ctx, k, pruneRows)
		deleted += n
		if err != nil || n < pruneRows {
			return deleted, err
		}
		if err := ctx.Err(); err != nil {
			return deleted, err
		}
	}
}

func (s *Store) prune(ctx context.Context, k Keep, rows int) (int64, error) {
	var deleted int64
	err := s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		before, err := pruneBefore(ctx, tx, k, s.o.Now())
		if err != nil {
			return err
		}
		if k.upTo > 0 {
			before = min(before, k.upTo)
		}
		gone, err := ids(ctx, tx, `SELECT id FROM call WHERE id < ? ORDER BY id LIMIT ?`, before, rows)
		if err == nil && len(gone) < rows && k.Age > 0 {
			var late []any
			late, err = s.moved.Load().before(ctx, tx, s.o.Now().Add(-k.Age), before, rows-len(gone))
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
	if err == nil && deleted > 0 {
		err = s.use(func(h *handle) error {
			_, err := h.write.ExecContext(ctx, `PRAGMA incremental_vacuum(2000)`)
			return err
		})
	}
	return deleted, err
}

// pruneBefore returns the id below which calls are beyond the bounds.
func pruneBefore(ctx context.Context, tx *sql.Tx, k Keep, now time.Time) (int64, error) {
	const all = 1 << 62
	before := k.below
	if k.Age > 0 {
		before = max(before, now.Add(-k.Age).UnixMicro())
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
	if err := unsearch(ctx, tx, gone); err != nil {
		return 0, err
	}
	if err := leave(ctx, tx, gone, erase); err != nil {
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
