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

// breaker is a circuit breaker. It refuses the calls to a server that has failed repeatedly, so
// that callers get an error immediately.
//
//	closed > consecutive failures reach the limit > open > the open time is over > half-open
//	half-open > one probe call: it fails > open; the server answers > closed
//
// A call that ends in another turn than it began in is not counted: the breaker has changed its
// state, or a connection was lost. A crash is therefore one failure, however many calls were in
// flight. A nil breaker admits every call. While there are no failures, a call costs two atomic
// loads and no lock.
type breaker struct {
	server  string
	account string // "" for the default one
	config.Breaker
	onChange func(BreakerStatus)

	healthy    atomic.Bool   // closed and without consecutive failures
	generation atomic.Uint64 // counts state changes and lost connections; compared with that of a ticket

	mu          sync.Mutex // guards the fields below
	state       BreakerState
	consecutive int // consecutive failures while closed
	since       time.Time
	probing     bool
}

// BreakerState is the state of a circuit breaker. Calls are admitted while it is closed.
type BreakerState string

const (
	BreakerClosed   BreakerState = "closed"
	BreakerOpen     BreakerState = "open"
	BreakerHalfOpen BreakerState = "half-open" // the next call is a probe, or a probe is in flight
)

// BreakerStatus is the status of the breaker of a server, or of one of its accounts.
type BreakerStatus struct {
	Server   string       `json:"server"`
	Account  string       `json:"account,omitempty"` // of the server; "" for the default one
	State    BreakerState `json:"state"`
	Failures int          `json:"failures"` // consecutive failures that opened it
	RetryAt  time.Time    `json:"retryAt"`  // when a probe is allowed; zero unless open
	Reason   string       `json:"reason"`   // one sentence
}

// ticket is held by an admitted call. turn is the one in which the call began.
type ticket struct {
	generation uint64
	probe      bool
}

// callOutcome is what the result of a call indicates about its server.
type callOutcome uint8

const (
	neutral callOutcome = iota // the result says nothing about the server
	succeeded
	timedOut       // the call timed out
	connectionLost // the connection was lost
)

// classifyOutcome distinguishes transport errors and timeouts from other results. An error result
// of a tool counts as success. sent reports whether the call was sent to the server.
func classifyOutcome(err error, sent bool) callOutcome {
	if err == nil {
		return succeeded
	}
	e, ours := errors.AsType[*core.Error](err)
	switch {
	case !sent || errors.Is(err, context.Canceled):
		return neutral
	case !ours:
		return neutral
	case e.Code == core.CodeTimeout:
		return timedOut
	case e.Code == core.CodeUnavailable:
		return connectionLost
	}
	return neutral
}

// newBreaker returns nil if c disables the breaker.
func newBreaker(server, account string, c config.Breaker, onChange func(BreakerStatus)) *breaker {
	if c.Failures <= 0 {
		return nil
	}
	b := &breaker{server: server, account: account, Breaker: c, onChange: onChange, state: BreakerClosed}
	b.healthy.Store(true)
	return b
}

// reuse returns b if next has the same settings, so that its state is preserved. Otherwise it
// resets b and returns next.
func (b *breaker) reuse(next *breaker) *breaker {
	if b != nil && next != nil && b.Breaker == next.Breaker {
		return b
	}
	b.reset()
	return next
}

// admit admits a call or returns an error with core.CodeBreakerOpen.
func (b *breaker) admit() (ticket, error) {
	if b == nil {
		return ticket{}, nil
	}
	if turn := b.generation.Load(); b.healthy.Load() {
		return ticket{generation: turn}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.state == BreakerOpen && !now.Before(b.since.Add(b.Open)) {
		b.setState(BreakerHalfOpen, now)
	}
	switch {
	case b.state == BreakerOpen, b.state == BreakerHalfOpen && b.probing:
		return ticket{}, b.openError(now)
	case b.state == BreakerHalfOpen:
		b.probing = true
		return ticket{generation: b.generation.Load(), probe: true}, nil
	}
	return ticket{generation: b.generation.Load()}, nil
}

func (b *breaker) record(t ticket, j callOutcome) {
	if b == nil || j == succeeded && b.healthy.Load() || j == neutral && !t.probe {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.generation != b.generation.Load() {
		return
	}
	now := time.Now()
	switch {
	case t.probe && j == neutral:
		b.probing = false // the next call is the probe
	case t.probe && j == succeeded:
		b.setState(BreakerClosed, now)
	case t.probe:
		b.setState(BreakerOpen, now)
	case j == succeeded:
		b.consecutive = 0
		b.healthy.Store(true)
	default:
		b.consecutive++
		b.healthy.Store(false)
		switch {
		case b.consecutive >= b.Failures:
			b.setState(BreakerOpen, now)
		case j == connectionLost:
			b.generation.Add(1)
		}
	}
}

// setState sets the state and starts a new turn. The caller must hold b.mu.
func (b *breaker) setState(to BreakerState, now time.Time) {
	b.state, b.since, b.probing = to, now, false
	b.generation.Add(1)
	if to == BreakerClosed {
		b.consecutive = 0
	}
	b.healthy.Store(to == BreakerClosed)
	if b.onChange != nil {
		b.onChange(b.status(to))
	}
}

func (b *breaker) reset() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != BreakerClosed {
		b.setState(BreakerClosed, time.Now())
	}
	b.consecutive = 0
	b.healthy.Store(true)
}

// allowProbe lets the next call test the server, as after the end of the open time.
func (b *breaker) allowProbe() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != BreakerClosed {
		b.setState(BreakerHalfOpen, time.Now())
	}
}

// checkOpen returns the error of an open breaker without admitting a call. It avoids work for a
// call that admit will refuse.
func (b *breaker) checkOpen() error {
	if b == nil || b.healthy.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); b.state == BreakerOpen && now.Before(b.since.Add(b.Open)) {
		return b.openError(now)
	}
	return nil
}

// openError returns the error of an open breaker. The caller must hold b.mu.
func (b *breaker) openError(now time.Time) error {
	name := fmt.Sprintf("server %q", b.server)
	if b.account != "" {
		name = fmt.Sprintf("account %q of server %q", b.account, b.server)
	}
	e := core.Errorf(core.CodeBreakerOpen, "%s %s; its circuit breaker is open", name, b.describeFailures())
	e.Hint, e.Retriable = "A test call is in progress: try again in a moment.", true
	if b.state == BreakerOpen {
		e.Hint = fmt.Sprintf("Try again in %s.", roundUp(b.since.Add(b.Open).Sub(now)))
	}
	return e
}

// describeFailures returns what opened the breaker, as the predicate of a sentence.
func (b *breaker) describeFailures() string {
	if b.Failures == 1 {
		return "failed"
	}
	return fmt.Sprintf("failed %d times in a row", b.Failures)
}

// status returns the status in a state. The caller must hold b.mu.
func (b *breaker) status(state BreakerState) BreakerStatus {
	s := BreakerStatus{Server: b.server, Account: b.account, State: state}
	subject := "it"
	if b.account != "" {
		subject = fmt.Sprintf("account %q", b.account)
	}
	switch state {
	case BreakerOpen:
		s.Failures, s.RetryAt = b.Failures, b.since.Add(b.Open).UTC()
		s.Reason = fmt.Sprintf("%s %s; no calls are sent to it for %s", subject, b.describeFailures(), b.Open)
	case BreakerHalfOpen:
		s.Failures = b.Failures
		s.Reason = fmt.Sprintf("%s %s; the next call is let through as a test", subject, b.describeFailures())
	}
	return s
}

// currentStatus returns the status at this moment. ok is false while the breaker is closed.
func (b *breaker) currentStatus() (BreakerStatus, bool) {
	if b == nil || b.healthy.Load() {
		return BreakerStatus{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	state := b.state
	if state == BreakerOpen && !time.Now().Before(b.since.Add(b.Open)) {
		state = BreakerHalfOpen
	}
	return b.status(state), state != BreakerClosed
}
