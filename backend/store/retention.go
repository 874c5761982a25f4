package store

import (
	"cmp"
	"context"
	"encoding/json"
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
func (s *retention) SetRetentionLimits(k RetentionLimits) {
	k.defaults()
	s.keep.Store(&k)
}

// runRetention enforces the retention limits until ctx is done.
func (s *retention) runRetention(ctx context.Context) {
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
func (s *retention) enforceRetention(ctx context.Context) {
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
func (s *retention) Prune(ctx context.Context, k RetentionLimits) (deleted int64, err error) {
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
func (s *retention) pruneInSteps(ctx context.Context, k RetentionLimits, pause func(held time.Duration) time.Duration) (deleted int64, err error) {
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
func (s *retention) prune(ctx context.Context, k RetentionLimits, rows int) (deleted int64, held time.Duration, err error) {
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

func (s *retention) boundaryID(ctx context.Context, rows int64) (edge int64, err error) {
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

// clockSkew protects the history from a wrong clock. Retention deletes calls by age, so a clock
// that is years ahead would delete all of them. Therefore, no calls expire after the clock jumped
// forward until it has continued from there for a day. A program that was not started for weeks
// also sees a jump, and then deletes expired calls a day later.
type clockSkew struct {
	Trusted      time.Time // newest trusted time
	JumpedAt     time.Time // time of the first check after a jump; zero if the clock is trusted
	checkedAt    time.Time // time of the previous check
	savedTrusted time.Time // value of Trusted in the database
}

const (
	clockSkewKey      = "clock_skew"
	jumpTrustDelay    = 24 * time.Hour     // time after which a jump is trusted
	maxJumpLimit      = 7 * 24 * time.Hour // an advance of more than this, or more than a quarter of the maximum age, is a jump ...
	minJumpLimit      = 24 * time.Hour     // ... but an advance of up to this never is
	clockSaveInterval = time.Hour          // interval at which Trusted is saved
)

// check updates the state at the time now. age is the maximum age of calls. The clock is trusted
// if JumpedAt is zero afterwards.
func (c *clockSkew) check(now time.Time, age time.Duration) {
	jump := max(min(maxJumpLimit, age/4), minJumpLimit)
	switch {
	case c.Trusted.IsZero() || now.Sub(c.Trusted) <= jump:
		c.Trusted, c.JumpedAt = now, time.Time{}
	case c.JumpedAt.IsZero() || now.Before(c.JumpedAt) || now.Sub(c.checkedAt) > jump: // another jump
		c.JumpedAt = now
	case now.Sub(c.JumpedAt) >= jumpTrustDelay:
		c.Trusted, c.JumpedAt = now, time.Time{}
	}
	c.checkedAt = now
}

// HeldCalls describes calls that are expired according to the clock but not yet deleted, because
// the clock jumped.
type HeldCalls struct {
	Calls int64     // number of expired calls
	All   bool      // all calls from before the jump are expired
	From  time.Time // trusted time before the jump
	Until time.Time // when they are deleted, unless the clock is corrected before
}

// HeldCalls returns the calls that are kept only because the clock jumped, or nil if there are
// none.
func (s *retention) HeldCalls() *HeldCalls { return s.heldCalls.Load() }

// checkClock reports whether the clock is trusted. Only enforceRetention may call it.
func (s *retention) checkClock(ctx context.Context, age time.Duration) (trusted bool, err error) {
	c, now := &s.clockSkew, s.opts.Now().Round(0) // without the monotonic clock, which hides that the clock was set
	if c.Trusted.IsZero() {
		if err := s.loadClockSkew(ctx); err != nil {
			return false, err
		}
	}
	was := c.JumpedAt
	c.check(now, age)
	if c.JumpedAt != was || c.Trusted.Sub(c.savedTrusted).Abs() >= clockSaveInterval {
		document, err := json.Marshal(c)
		if err == nil {
			err = s.SaveMetadata(ctx, clockSkewKey, document)
		}
		if err != nil {
			return false, err
		}
		c.savedTrusted = c.Trusted
	}
	if c.JumpedAt.IsZero() || age <= 0 {
		s.heldCalls.Store(nil)
		return c.JumpedAt.IsZero(), nil
	}
	return false, s.recordHeld(ctx, now, age)
}

// loadClockSkew loads the trusted time that an earlier run saved. If there is none, it uses the
// time of the newest call.
func (s *retention) loadClockSkew(ctx context.Context) error {
	value, _, err := s.Metadata(ctx, clockSkewKey)
	if err != nil {
		return err
	}
	c := &s.clockSkew
	if json.Unmarshal(value, c) != nil { // not saved yet, or by an earlier version
		var newest int64
		found, err := s.queryRow(ctx, []any{&newest}, `SELECT at FROM call ORDER BY id DESC LIMIT 1`)
		if !found {
			return err
		}
		*c = clockSkew{Trusted: time.UnixMicro(newest)}
	}
	c.savedTrusted, c.checkedAt = c.Trusted, c.JumpedAt
	return nil
}

// recordHeld counts the expired calls that are kept because of a jump, once per jump.
func (s *retention) recordHeld(ctx context.Context, now time.Time, age time.Duration) error {
	c := &s.clockSkew
	until := c.JumpedAt.Add(jumpTrustDelay)
	if h := s.heldCalls.Load(); h != nil && h.Until.Equal(until) {
		return nil
	}
	held := HeldCalls{All: now.Sub(c.Trusted) >= age, From: c.Trusted, Until: until}
	_, err := s.queryRow(ctx, []any{&held.Calls}, `SELECT count(*) FROM call WHERE id < ?`, now.Add(-age).UnixMicro())
	if err != nil || held.Calls == 0 {
		return err
	}
	s.heldCalls.Store(&held)
	s.opts.Log.Warn("The clock jumped far ahead: calls that expired only because of the jump are kept for a day", "calls", held.Calls, "from", c.Trusted, "to", now, "until", until)
	return nil
}

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
func (s *retention) RetentionPreview(ctx context.Context, k RetentionLimits) (RetentionPreview, error) {
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
