// Package ending is how something is ended in steps that wait: once, however many ask
// for it, and without further patience as soon as one of them has none left.
package ending

import (
	"context"
	"sync"
	"time"
)

// Ending is the ending of one thing. Make it with New. All methods may be called from any
// goroutine.
type Ending struct {
	begin   sync.Once
	hasten  sync.Once
	hurried chan struct{}
	over    chan struct{}
	err     error // set before over closes
}

// New starts nothing.
func New() *Ending {
	return &Ending{hurried: make(chan struct{}), over: make(chan struct{})}
}

// Run runs end, which only the first call does, and returns what came of it. When ctx ends,
// patience is lost, and end is still waited for.
func (e *Ending) Run(ctx context.Context, end func() error) error {
	e.begin.Do(func() {
		go func() {
			defer close(e.over)
			e.err = end()
		}()
	})
	select {
	case <-e.over:
	case <-ctx.Done():
		e.Hurry()
		<-e.over
	}
	return e.err
}

// Hurry takes the patience away, for good.
func (e *Ending) Hurry() { e.hasten.Do(func() { close(e.hurried) }) }

// Hurried reports whether no patience is left.
func (e *Ending) Hurried() bool {
	select {
	case <-e.hurried:
		return true
	default:
		return false
	}
}

// Wait waits for done, at most d, and not at all once patience is lost. It reports
// whether done is closed.
func (e *Ending) Wait(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-e.hurried:
	case <-timer.C:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Within waits for done, at most d, whatever the patience. It reports whether done is closed.
func Within(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
