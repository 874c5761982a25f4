package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// lifecycle closes what was opened, in reverse order, each by name and within a limit.
// It belongs to one goroutine. Make it with newLifecycle.
type lifecycle struct {
	log     *slog.Logger
	closers []closer
	early   []context.CancelFunc
	ended   chan error // what ended by itself: the program then stops
}

func newLifecycle(log *slog.Logger) *lifecycle {
	return &lifecycle{log: log, ended: make(chan error, 1)}
}

type closer struct {
	name  string
	limit time.Duration
	close func(context.Context) error
}

// onStop registers the close of something that was just opened. A close that takes
// longer than limit is left behind and named.
func (l *lifecycle) onStop(name string, limit time.Duration, closeFunc func(context.Context) error) {
	l.closers = append(l.closers, closer{name, limit, closeFunc})
}

// run starts a part that works until its context ends, and registers its stop, which
// waits for it. A part that ends by itself ends the program: see ended.
func (l *lifecycle) run(name string, limit time.Duration, work func(context.Context) error) {
	l.begin(name, limit, work)
}

// runSlow is run for what takes long to stop: that begins at once when the program
// stops, beside the parts before it, and is waited for in its turn.
func (l *lifecycle) runSlow(name string, limit time.Duration, work func(context.Context) error) {
	l.early = append(l.early, l.begin(name, limit, work))
}

func (l *lifecycle) begin(name string, limit time.Duration, work func(context.Context) error) context.CancelFunc {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := work(ctx)
		done <- err
		if ctx.Err() == nil {
			if err == nil {
				err = errors.New("it returned")
			}
			select {
			case l.ended <- fmt.Errorf("%s ended: %w", name, err):
			default: // something else ended before: one reason is enough
			}
		}
	}()
	l.onStop(name, limit, func(context.Context) error {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
	return cancel
}

// stop runs the closers backwards. It goes on after a failure and returns all of them.
func (l *lifecycle) stop() error {
	for _, cancel := range l.early {
		cancel()
	}
	var failures []error
	for i := len(l.closers) - 1; i >= 0; i-- {
		c := l.closers[i]
		ctx, cancel := context.WithTimeout(context.Background(), c.limit)
		done := make(chan error, 1)
		go func() { done <- c.close(ctx) }()
		select {
		case err := <-done:
			if err != nil {
				failures = append(failures, fmt.Errorf("cannot stop %s: %w", c.name, err))
			}
		case <-ctx.Done():
			failures = append(failures, fmt.Errorf("cannot stop %s: not done after %s", c.name, c.limit))
		}
		cancel()
		l.log.Debug("Stopped", "part", c.name)
	}
	l.closers = nil
	return errors.Join(failures...)
}
