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
	seen  time.Time // newest trusted time
	leapt time.Time // time of the first check after a jump; zero if the clock is trusted
	last  time.Time // time of the previous check
	saved time.Time // value of seen in the database
}

const (
	agingFact  = "aging"
	leapFor    = 24 * time.Hour     // time after which a jump is trusted
	leapMost   = 7 * 24 * time.Hour // an advance of more than this, or more than a quarter of the maximum age, is a jump ...
	leapLeast  = 24 * time.Hour     // ... but an advance of up to this never is
	agingEvery = time.Hour          // interval at which seen is saved
)

// maxLeap returns how far the clock may advance between two checks without counting as a jump, for
// a given maximum age of calls.
func maxLeap(age time.Duration) time.Duration {
	return max(min(leapMost, age/4), leapLeast)
}

// trustedNow returns the time from which age is computed, given the current time and the maximum
// age of calls.
func (a *clockSkew) trustedNow(now time.Time, age time.Duration) time.Time {
	leap := maxLeap(age)
	switch {
	case a.seen.IsZero() || now.Sub(a.seen).Abs() <= leap:
		a.seen, a.leapt = now, time.Time{}
	case a.leapt.IsZero() || now.Before(a.leapt) || now.Sub(a.last) > leap: // another jump
		a.leapt = now
	case now.Sub(a.leapt) >= leapFor:
		a.seen, a.leapt = now, time.Time{}
	}
	a.last = now
	if now.Before(a.seen) {
		return now
	}
	return a.seen
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
	now, age := s.o.Now(), s.keep.Load().Age
	a := &s.clockSkew // accessed only by enforceRetention
	if a.seen.IsZero() {
		if err := s.loadClockSkew(ctx); err != nil {
			return time.Time{}, err
		}
	}
	was := a.leapt
	at := a.trustedNow(now, age)
	if gone := a.seen.Sub(a.saved); gone.Abs() >= agingEvery || a.leapt != was {
		err := s.SaveMetadata(ctx, agingFact, []byte(fmt.Sprint(a.seen.UnixMicro(), " ", micros(a.leapt))))
		if err != nil {
			return time.Time{}, err
		}
		a.saved = a.seen
	}
	return at, s.recordHeld(ctx, now, age)
}

// loadClockSkew loads the trusted time that an earlier run saved. If there is none, it uses the
// time of the newest call.
func (s *Store) loadClockSkew(ctx context.Context) error {
	value, ok, err := s.Metadata(ctx, agingFact)
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
	a.seen, a.saved = time.UnixMicro(seen), time.UnixMicro(seen)
	if leapt != 0 {
		a.leapt = time.UnixMicro(leapt)
		a.last = a.leapt
	}
	return nil
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// recordHeld counts the expired calls that are kept because of a jump, once per jump.
func (s *Store) recordHeld(ctx context.Context, now time.Time, age time.Duration) error {
	a := &s.clockSkew
	if a.leapt.IsZero() || age <= 0 || now.Before(a.seen) {
		s.held.Store(nil)
		return nil
	}
	until := a.leapt.Add(leapFor)
	if h := s.held.Load(); h != nil && h.Until.Equal(until) {
		return nil
	}
	held := Held{All: now.Sub(a.seen) >= age, From: a.seen, Until: until}
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		return h.read.QueryRowContext(ctx, `SELECT count(*) FROM call WHERE id < ?`, now.Add(-age).UnixMicro()).Scan(&held.Calls)
	})
	if err != nil || held.Calls == 0 {
		return err
	}
	s.held.Store(&held)
	s.o.Log.Warn("The clock went far ahead: calls that are too old by it are kept for a day", "calls", held.Calls, "from", a.seen, "to", now, "until", until)
	return nil
}
