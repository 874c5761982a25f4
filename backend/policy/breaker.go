package policy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// breaker gives a server a rest that failed so often in a row, and its callers an
// answer at once.
//
//	closed > failures in a row reach the limit > open > the rest is over > half-open
//	half-open > one call tries: it fails > open; the server answers > closed
//
// What ends in another turn than it began in, because the breaker changed meanwhile,
// does not count. Nor do other calls that were under way when a connection was lost: a
// crash is one failure, however many calls it takes along. A nil breaker lets everything through. While all is well, a call
// costs two loads and no lock.
type breaker struct {
	server string
	config.Breaker
	onChange func(BreakerStatus)

	well atomic.Bool   // closed, without a failure in this row
	turn atomic.Uint64 // counts changes and lost connections; a ticket holds it

	mu      sync.Mutex // guards the fields below
	state   BreakerState
	row     int // failures in a row while closed
	since   time.Time
	probing bool
}

// BreakerState is closed while calls go through.
type BreakerState string

const (
	BreakerClosed   BreakerState = "closed"
	BreakerOpen     BreakerState = "open"
	BreakerHalfOpen BreakerState = "half-open" // the next call tries, or one is trying
)

// BreakerStatus is what the user may know of a server's breaker.
type BreakerStatus struct {
	Server   string       `json:"server"`
	State    BreakerState `json:"state"`
	Failures int          `json:"failures"` // in a row, that opened it
	RetryAt  time.Time    `json:"retryAt"`  // when a call may try; zero unless open
	Reason   string       `json:"reason"`   // one sentence
}

// ticket belongs to an admitted call: the turn in which it began.
type ticket struct {
	turn  uint64
	probe bool
}

// callOutcome is what the end of a call says of its server.
type callOutcome uint8

const (
	neutral callOutcome = iota // it was not the server's turn to show anything
	worked
	failed // it did not answer in time
	lost   // the connection broke
)

// classifyOutcome tells transport errors and timeouts from everything else. An error of a tool
// is an answer.
func classifyOutcome(err error, sent bool) callOutcome {
	if err == nil {
		return worked
	}
	e, ours := errors.AsType[*core.Error](err)
	switch {
	case !sent || errors.Is(err, context.Canceled):
		return neutral
	case !ours:
		return neutral
	case e.Code == core.CodeTimeout:
		return failed
	case e.Code == core.CodeUnavailable:
		return lost
	}
	return neutral
}

// newBreaker returns nil for one that never opens.
func newBreaker(server string, c config.Breaker, onChange func(BreakerStatus)) *breaker {
	if c.Failures <= 0 {
		return nil
	}
	b := &breaker{server: server, Breaker: c, onChange: onChange, state: BreakerClosed}
	b.well.Store(true)
	return b
}

// reuse returns b where next has the same rules, so that it goes on counting.
func (b *breaker) reuse(next *breaker) *breaker {
	if b != nil && next != nil && b.Breaker == next.Breaker {
		return b
	}
	b.reset()
	return next
}

// admit lets a call through, or refuses it.
func (b *breaker) admit() (ticket, error) {
	if b == nil {
		return ticket{}, nil
	}
	if turn := b.turn.Load(); b.well.Load() {
		return ticket{turn: turn}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.state == BreakerOpen && !now.Before(b.since.Add(b.Open)) {
		b.change(BreakerHalfOpen, now)
	}
	switch {
	case b.state == BreakerOpen, b.state == BreakerHalfOpen && b.probing:
		return ticket{}, b.refusal(now)
	case b.state == BreakerHalfOpen:
		b.probing = true
		return ticket{turn: b.turn.Load(), probe: true}, nil
	}
	return ticket{turn: b.turn.Load()}, nil
}

// end counts how an admitted call ended.
func (b *breaker) end(t ticket, j callOutcome) {
	if b == nil || j == worked && b.well.Load() || j == neutral && !t.probe {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.turn != b.turn.Load() {
		return
	}
	now := time.Now()
	switch {
	case t.probe && j == neutral:
		b.probing = false // the next call tries
	case t.probe && j == worked:
		b.change(BreakerClosed, now)
	case t.probe:
		b.change(BreakerOpen, now)
	case j == worked:
		b.row = 0
		b.well.Store(true)
	default:
		b.row++
		b.well.Store(false)
		switch {
		case b.row >= b.Failures:
			b.change(BreakerOpen, now)
		case j == lost:
			b.turn.Add(1)
		}
	}
}

// change must be called with b.mu held.
func (b *breaker) change(to BreakerState, now time.Time) {
	b.state, b.since, b.probing = to, now, false
	b.turn.Add(1)
	if to == BreakerClosed {
		b.row = 0
	}
	b.well.Store(to == BreakerClosed)
	if b.onChange != nil {
		b.onChange(b.status())
	}
}

// reset closes the breaker: the user has seen to the server.
func (b *breaker) reset() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != BreakerClosed {
		b.change(BreakerClosed, time.Now())
	}
	b.row = 0
	b.well.Store(true)
}

// checkOpen refuses as admit does, but takes nothing. It is for those who would rather
// not begin what admit will refuse.
func (b *breaker) checkOpen() error {
	if b == nil || b.well.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); b.state == BreakerOpen && now.Before(b.since.Add(b.Open)) {
		return b.refusal(now)
	}
	return nil
}

// refusal must be called with b.mu held.
func (b *breaker) refusal(now time.Time) error {
	e := core.Errorf(core.CodeBreakerOpen, "server %q failed %d times in a row and rests", b.server, b.Failures)
	e.Hint, e.Retriable = "A call is trying it now: try again in a moment.", true
	if b.state == BreakerOpen {
		e.Hint = fmt.Sprintf("Try again in %s.", atLeast(b.since.Add(b.Open).Sub(now)))
	}
	return e
}

// status must be called with b.mu held.
func (b *breaker) status() BreakerStatus {
	s := BreakerStatus{Server: b.server, State: b.state}
	switch b.state {
	case BreakerOpen:
		s.Failures, s.RetryAt = b.Failures, b.since.Add(b.Open).UTC()
		s.Reason = fmt.Sprintf("it failed %d times in a row and rests for %s", b.Failures, b.Open)
	case BreakerHalfOpen:
		s.Failures = b.Failures
		s.Reason = fmt.Sprintf("it failed %d times in a row; the next call tries it", b.Failures)
	}
	return s
}

// current is the status at this moment; false while calls go through.
func (b *breaker) current() (BreakerStatus, bool) {
	if b == nil || b.well.Load() {
		return BreakerStatus{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.status()
	if s.State == BreakerOpen && !time.Now().Before(b.since.Add(b.Open)) {
		s.State, s.RetryAt = BreakerHalfOpen, time.Time{}
		s.Reason = fmt.Sprintf("it failed %d times in a row; the next call tries it", b.Failures)
	}
	return s, s.State != BreakerClosed
}
