package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// lifecycle closes what was opened, in reverse order, each with a name and a time limit. It must be
// used from one goroutine. Create it with newLifecycle.
type lifecycle struct {
	log     *slog.Logger
	closers []closer
	early   []context.CancelFunc
	ended   chan error // receives the end of a part that stopped by itself; the program then stops
}

func newLifecycle(log *slog.Logger) *lifecycle {
	return &lifecycle{log: log, ended: make(chan error, 1)}
}

type closer struct {
	name  string
	limit time.Duration
	close func(context.Context) error
}

// onStop registers the close of something that was just opened. A close that exceeds limit is
// abandoned and reported by name.
func (l *lifecycle) onStop(name string, limit time.Duration, closeFunc func(context.Context) error) {
	l.closers = append(l.closers, closer{name, limit, closeFunc})
}

// run starts a part that runs until its context is done, and registers its stop, which waits for
// it. A part that returns before ends the program: see ended.
func (l *lifecycle) run(name string, limit time.Duration, work func(context.Context) error) {
	l.begin(name, limit, work)
}

// runSlow is like run, for a part that takes long to stop: its context is cancelled as soon as the
// program stops, and it is waited for in its turn.
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
				err = errors.New("it stopped without an error")
			}
			select {
			case l.ended <- fmt.Errorf("%s stopped unexpectedly: %w", name, err):
			default: // another part ended before; one reason is enough
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

// stop runs the closers in reverse order. It continues after a failure and returns all errors.
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
			failures = append(failures, fmt.Errorf("cannot stop %s: still running after %s", c.name, c.limit))
		}
		cancel()
		l.log.Debug("Stopped", "part", c.name)
	}
	l.closers = nil
	return errors.Join(failures...)
}
