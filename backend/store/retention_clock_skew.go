package store

import (
	"context"
	"encoding/json"
	"time"
)

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
func (s *Store) HeldCalls() *HeldCalls { return s.heldCalls.Load() }

// checkClock reports whether the clock is trusted. Only enforceRetention may call it.
func (s *Store) checkClock(ctx context.Context, age time.Duration) (trusted bool, err error) {
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
func (s *Store) loadClockSkew(ctx context.Context) error {
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
func (s *Store) recordHeld(ctx context.Context, now time.Time, age time.Duration) error {
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
