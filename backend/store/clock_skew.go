package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Calls go when they are too old, and a clock that is wrong by years makes all of them so.
// A clock that leaps is therefore believed only when it has gone on from there for a day;
// until then age counts from the time before the leap. A leap is as well that nobody
// started Drawbridge for weeks: what is too old then goes a day later. A clock that is
// far behind deletes nothing, and is forgotten when it is right again within a day.
type clockSkew struct {
	seen  time.Time // the newest time that was believed
	leapt time.Time // the clock when it was first found too far from seen; zero: it is not
	last  time.Time // the clock at the look before
	saved time.Time // seen as it is on disk
}

const (
	agingFact  = "aging"
	leapFor    = 24 * time.Hour     // a leap is believed after it
	leapMost   = 7 * 24 * time.Hour // further than this, or a quarter of the age that is kept, is a leap ...
	leapLeast  = 24 * time.Hour     // ... but never less
	agingEvery = time.Hour          // seen is kept as often
)

// maxLeap is how far the clock may go between two looks.
func maxLeap(age time.Duration) time.Duration {
	return max(min(leapMost, age/4), leapLeast)
}

// trustedNow takes what the clock says and returns the time from which age counts.
func (a *clockSkew) trustedNow(now time.Time, age time.Duration) time.Time {
	leap := maxLeap(age)
	switch {
	case a.seen.IsZero() || now.Sub(a.seen).Abs() <= leap:
		a.seen, a.leapt = now, time.Time{}
	case a.leapt.IsZero() || now.Before(a.leapt) || now.Sub(a.last) > leap: // another leap
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

// Held says that calls which are too old by the clock are kept for now, because it leapt.
type Held struct {
	Calls int64     // that would be gone
	All   bool      // these are all that there were before the leap
	From  time.Time // before the leap
	Until time.Time // they go, if the clock is the same then
}

// Held is what a clock that leapt would have deleted; nil when it did not, or nothing is too old.
func (s *Store) Held() *Held { return s.held.Load() }

// trustedNow is the time from which the age of calls counts.
func (s *Store) trustedNow(ctx context.Context) (time.Time, error) {
	now, age := s.o.Now(), s.keep.Load().Age
	a := &s.clockSkew // only tidy uses it
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

// loadClockSkew reads what an earlier run believed; the newest call tells it as well.
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

// recordHeld counts what is kept because of a leap, once for each.
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
