package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/config"
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

// startupCleanup stops the processes left over from an earlier run. It runs concurrently with the
// rest of the start, so that list requests are answered in the meantime.
//
// It never ends processes of this run. Every start of a server waits for it
// (upstream.Dialer.Ready), because otherwise two processes of a server could run at the same
// time and the ledgers would contain ours. Other processes of ours, such as the login shell,
// are not mistaken for old ones: marks contain the run, ledgers contain the start time of each
// process, and only processes with an old mark or ledger entry and their descendants are ended.
type startupCleanup struct {
	spawner    *process.Spawner
	containers string // folder of the ledger of processes in containers
	bus        *core.Bus
	log        *slog.Logger
	done       chan struct{} // closed when the cleanup is complete
	result     cleanupResult // valid after over is closed
}

// run cleans up once, then waits for ctx. The check of containers ends with ctx.
func (s *startupCleanup) run(ctx context.Context) error {
	if swept, err := s.spawner.EndOrphans(); err != nil {
		s.log.Warn("Cannot search for processes left over from an earlier run", "error", err)
	} else if len(swept) > 0 {
		s.result.processes = len(swept)
		s.log.Warn("Stopped processes left over from an earlier run", "count", len(swept))
	}
	if ended, err := dockerexec.EndOrphans(ctx, s.containers); err != nil {
		s.log.Debug("Cannot search containers for processes left over from an earlier run", "error", err)
	} else if ended > 0 {
		s.result.contained = ended
		s.log.Warn("Stopped processes in containers left over from an earlier run", "count", ended)
	}
	close(s.done)
	for _, notice := range s.result.notices() { // for pages that are already open
		s.bus.Publish(core.NoticeEvent, notice)
	}
	<-ctx.Done()
	return nil
}

// wait waits until the cleanup is complete. It returns the error of ctx if that is first.
func (s *startupCleanup) wait(ctx context.Context) error {
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *startupCleanup) notices() []core.Notice {
	select {
	case <-s.done:
		return s.result.notices()
	default:
		return nil
	}
}

// cleanupResult counts the processes of an earlier run that were ended.
type cleanupResult struct {
	processes int
	contained int // processes in containers, and containers
}

// notices returns at most one notice about them. It stays until the next start.
func (l cleanupResult) notices() []core.Notice {
	var what string
	switch {
	case l.processes > 0 && l.contained > 0:
		what = fmt.Sprintf("%s and %d in containers", counted(l.processes), l.contained)
	case l.processes > 0:
		what = counted(l.processes)
	case l.contained > 0:
		what = counted(l.contained) + " in containers"
	default:
		return nil
	}
	return []core.Notice{{Subject: "cleanup", Message: "Stopped " + what + " left over from an earlier run."}}
}

func counted(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

func execLedger(f config.Folders) string { return filepath.Join(f.State, "containers") }
