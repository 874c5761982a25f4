package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// lifecycle closes what was opened, in reverse order, each by name and within a limit.
// The zero value is ready to use. It belongs to one goroutine.
type lifecycle struct {
	log     *slog.Logger
	closers []closer
}

type closer struct {
	name  string
	limit time.Duration
	close func(context.Context) error
}

// onStop registers the close of something that was just opened. A close that takes
// longer than limit is left behind and named.
func (l *lifecycle) onStop(name string, limit time.Duration, close func(context.Context) error) {
	l.closers = append(l.closers, closer{name, limit, close})
}

// stop runs the closers backwards. It goes on after a failure and returns all of them.
func (l *lifecycle) stop() error {
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
