package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Calls are deleted when they are too old, and if the clock is wrong by years, all of them
// are. Therefore a clock that jumps forward is trusted only after it has run on from there for
// a day; until then, age is computed from the time before the jump. It also counts as a jump if
// Drawbridge was not started for weeks: then expired calls are deleted a day later. A clock
// that is behind deletes nothing, and has no effect if it is corrected within a day.
type clockSkew struct {
	seen  time.Time // the newest time that is trusted
	leapt time.Time // the clock when it was first too far from seen; zero if it is not
	last  time.Time // the clock at the previous check
	saved time.Time // the value of seen on disk
}

const (
	agingFact  = "aging"
	leapFor    = 24 * time.Hour     // a jump is trusted after this time
	leapMost   = 7 * 24 * time.Hour // further than this, or a quarter of the age that is kept, is a leap ...
	leapLeast  = 24 * time.Hour     // ... but never less
	agingEvery = time.Hour          // interval of saving seen
)

// maxLeap returns how far the clock may advance between two checks.
func maxLeap(age time.Duration) time.Duration {
	return max(min(leapMost, age/4), leapLeast)
}

// trustedNow takes the clock and returns the time from which age is computed.
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

// Held describes calls that are expired by the clock but kept for now, because it jumped.
type Held struct {
	Calls int64     // that would have been deleted
	All   bool      // these are all calls from before the jump
	From  time.Time // the trusted time before the jump
	Until time.Time // when they are deleted, if the clock has not changed back
}

// Held returns what a clock that jumped would have deleted, or nil.
func (s *Store) Held() *Held { return s.held.Load() }

// trustedNow returns the time from which the age of calls is computed.
func (s *Store) trustedNow(ctx context.Context) (time.Time, error) {
	now, age := s.o.Now(), s.keep.Load().Age
	a := &s.clockSkew // used only by enforceRetention
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

// loadClockSkew reads the trusted time of an earlier run; without one, it is the time of the
// newest call.
func (s *Store) loadClockSkew(ctx context.Context) error {
	value, ok, err := s.Metadata(ctx, agingFact)
	if err != nil {
		return err
	}
	var seen, leapt int64
	if ok {
		if n, _ := fmt.Sscan(string(value), &seen, &leapt); n != 2 {
			seen, leapt = 0, 0 // not ours
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

// recordHeld counts the calls that are kept because of a jump, once for each jump.
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
