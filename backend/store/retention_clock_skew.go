package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// clockSkew protects the history from a wrong clock. Retention deletes calls by age, so a clock
// that is years ahead would delete all of them. A clock that jumps forward is therefore trusted
// only after it has continued from there for a day; until then, age is computed from the time
// before the jump. A program that was not started for weeks also sees a jump, and then deletes
// expired calls a day later. A clock that is behind deletes nothing, and has no effect if it is
// corrected within a day.
type clockSkew struct {
	trusted      time.Time // newest trusted time
	jumpedAt     time.Time // time of the first check after a jump; zero if the clock is trusted
	checkedAt    time.Time // time of the previous check
	savedTrusted time.Time // value of trusted in the database
}

const (
	clockSkewKey      = "aging"
	jumpTrustDelay    = 24 * time.Hour     // time after which a jump is trusted
	maxJumpLimit      = 7 * 24 * time.Hour // an advance of more than this, or more than a quarter of the maximum age, is a jump ...
	minJumpLimit      = 24 * time.Hour     // ... but an advance of up to this never is
	clockSaveInterval = time.Hour          // interval at which trusted is saved
)

// maxAdvance returns how far the clock may advance between two checks without counting as a jump,
// for a given maximum age of calls.
func maxAdvance(age time.Duration) time.Duration {
	return max(min(maxJumpLimit, age/4), minJumpLimit)
}

// trustedNow returns the time from which age is computed, given the current time and the maximum
// age of calls.
func (a *clockSkew) trustedNow(now time.Time, age time.Duration) time.Time {
	leap := maxAdvance(age)
	switch {
	case a.trusted.IsZero() || now.Sub(a.trusted).Abs() <= leap:
		a.trusted, a.jumpedAt = now, time.Time{}
	case a.jumpedAt.IsZero() || now.Before(a.jumpedAt) || now.Sub(a.checkedAt) > leap: // another jump
		a.jumpedAt = now
	case now.Sub(a.jumpedAt) >= jumpTrustDelay:
		a.trusted, a.jumpedAt = now, time.Time{}
	}
	a.checkedAt = now
	if now.Before(a.trusted) {
		return now
	}
	return a.trusted
}

// Held describes calls that are expired according to the clock but not yet deleted, because the
// clock jumped.
type Held struct {
	Calls int64     // number of expired calls
	All   bool      // all calls from before the jump are expired
	From  time.Time // trusted time before the jump
	Until time.Time // when they are deleted, unless the clock is corrected before
}

// Held returns the calls that are kept only because the clock jumped, or nil if there are none.
func (s *Store) Held() *Held { return s.held.Load() }

// trustedNow returns the time from which the age of calls is computed.
func (s *Store) trustedNow(ctx context.Context) (time.Time, error) {
	now, age := s.opts.Now(), s.keep.Load().Age
	a := &s.clockSkew // accessed only by enforceRetention
	if a.trusted.IsZero() {
		if err := s.loadClockSkew(ctx); err != nil {
			return time.Time{}, err
		}
	}
	was := a.jumpedAt
	at := a.trustedNow(now, age)
	if gone := a.trusted.Sub(a.savedTrusted); gone.Abs() >= clockSaveInterval || a.jumpedAt != was {
		err := s.SaveMetadata(ctx, clockSkewKey, []byte(fmt.Sprint(a.trusted.UnixMicro(), " ", unixMicro(a.jumpedAt))))
		if err != nil {
			return time.Time{}, err
		}
		a.savedTrusted = a.trusted
	}
	return at, s.recordHeld(ctx, now, age)
}

// loadClockSkew loads the trusted time that an earlier run saved. If there is none, it uses the
// time of the newest call.
func (s *Store) loadClockSkew(ctx context.Context) error {
	value, ok, err := s.Metadata(ctx, clockSkewKey)
	if err != nil {
		return err
	}
	var seen, leapt int64
	if ok {
		if n, _ := fmt.Sscan(string(value), &seen, &leapt); n != 2 {
			seen, leapt = 0, 0 // invalid value
		}
	}
	if seen == 0 {
		err := s.query(ctx, func(ctx context.Context, h *handle) error {
			var newest sql.NullInt64
			err := h.read.QueryRowContext(ctx, `SELECT at FROM call ORDER BY id DESC LIMIT 1`).Scan(&newest)
			if err != nil && err != sql.ErrNoRows {
				return err
			}
			seen = newest.Int64
			return nil
		})
		if err != nil || seen == 0 {
			return err
		}
	}
	a := &s.clockSkew
	a.trusted, a.savedTrusted = time.UnixMicro(seen), time.UnixMicro(seen)
	if leapt != 0 {
		a.jumpedAt = time.UnixMicro(leapt)
		a.checkedAt = a.jumpedAt
	}
	return nil
}

func unixMicro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// recordHeld counts the expired calls that are kept because of a jump, once per jump.
func (s *Store) recordHeld(ctx context.Context, now time.Time, age time.Duration) error {
	a := &s.clockSkew
	if a.jumpedAt.IsZero() || age <= 0 || now.Before(a.trusted) {
		s.held.Store(nil)
		return nil
	}
	until := a.jumpedAt.Add(jumpTrustDelay)
	if h := s.held.Load(); h != nil && h.Until.Equal(until) {
		return nil
	}
	held := Held{All: now.Sub(a.trusted) >= age, From: a.trusted, Until: until}
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		return h.read.QueryRowContext(ctx, `SELECT count(*) FROM call WHERE id < ?`, now.Add(-age).UnixMicro()).Scan(&held.Calls)
	})
	if err != nil || held.Calls == 0 {
		return err
	}
	s.held.Store(&held)
	s.opts.Log.Warn("The clock went far ahead: calls that are too old by it are kept for a day", "calls", held.Calls, "from", a.trusted, "to", now, "until", until)
	return nil
}
