package osutil

import (
	"context"
	"sync"
	"time"
)

// Closer runs the shutdown of one resource. Create it with NewCloser. All methods are safe for
// concurrent use.
type Closer struct {
	startOnce    sync.Once
	expediteOnce sync.Once
	expedited    chan struct{}
	finished     chan struct{}
	err          error // set before finished is closed
}

// NewCloser returns a Closer whose shutdown has not begun.
func NewCloser() *Closer {
	return &Closer{expedited: make(chan struct{}), finished: make(chan struct{})}
}

// Run runs end on the first call and returns its error; later calls wait for that run and
// return the same error. When ctx is done, Run calls Expedite and keeps waiting for end.
func (e *Closer) Run(ctx context.Context, end func() error) error {
	e.startOnce.Do(func() {
		go func() {
			defer close(e.finished)
			e.err = end()
		}()
	})
	select {
	case <-e.finished:
	case <-ctx.Done():
		e.Expedite()
		<-e.finished
	}
	return e.err
}

// Expedite makes every current and future Wait return at once.
func (e *Closer) Expedite() { e.expediteOnce.Do(func() { close(e.expedited) }) }

// Expedited reports whether Expedite has been called.
func (e *Closer) Expedited() bool {
	select {
	case <-e.expedited:
		return true
	default:
		return false
	}
}

// Wait waits until done is closed, d has passed, or Expedite is called, and reports whether
// done is closed.
func (e *Closer) Wait(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-e.expedited:
	case <-timer.C:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// WaitAtMost waits until done is closed or d has passed, and reports whether done is closed.
func WaitAtMost(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
