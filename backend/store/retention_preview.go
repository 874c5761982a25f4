package store

import (
	"context"
	"time"
)

// RetentionPreview describes the calls that retention limits would delete.
type RetentionPreview struct {
	Calls int64
	All   int64 // total number of calls
	// About means that Calls is an estimate, based on the average size of all calls.
	About bool
	From  time.Time // start of the oldest of these calls; zero if there are none
	To    time.Time // start of the newest of these calls; an estimate if About is set
}

// RetentionPreview counts the calls that Prune would delete with the limits k. It deletes nothing.
func (s *Store) RetentionPreview(ctx context.Context, k RetentionLimits) (RetentionPreview, error) {
	s.waitForRecent(ctx)
	var b RetentionPreview
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		b = RetentionPreview{}
		if err := h.read.QueryRowContext(ctx, `SELECT count(*) FROM call`).Scan(&b.All); err != nil {
			return err
		}
		used, err := usedBytes(ctx, h.read)
		if err != nil {
			return err
		}
		if k.Age > 0 {
			// Late calls are compared by start time instead of id: the clock may have been set
			// back.
			old := s.opts.Now().Add(-k.Age).UnixMicro()
			m := s.lateCalls.Load()
			if m == nil {
				m = &clockSetBackRange{1, 0}
			}
			if err := h.read.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM call WHERE id < ?) + (SELECT count(*) FROM call WHERE id >= ? AND id BETWEEN ? AND ? AND at < ?)`,
				old, old, m.first, m.last, old).Scan(&b.Calls); err != nil {
				return err
			}
		}
		if k.Rows > 0 {
			b.Calls = max(b.Calls, b.All-k.Rows)
		}
		if k.Bytes > 0 && used > k.Bytes {
			if many := int64(float64(b.All) * float64(used-k.Bytes) / float64(used)); many > b.Calls {
				b.Calls, b.About = many, true
			}
		}
		if b.Calls == 0 {
			return nil
		}
		oldest, err := queryIDs(ctx, h.read, `SELECT at FROM call ORDER BY id LIMIT 1`)
		if err != nil || len(oldest) == 0 {
			return err
		}
		newest, err := queryIDs(ctx, h.read, `SELECT at FROM call ORDER BY id LIMIT 1 OFFSET ?`, b.Calls-1)
		if err != nil || len(newest) == 0 {
			return err
		}
		b.From, b.To = time.UnixMicro(oldest[0].(int64)).UTC(), time.UnixMicro(newest[0].(int64)).UTC()
		return nil
	})
	return b, err
}
