package supervisor

import (
	"context"
	"errors"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Paused reports whether all servers are paused.
func (s *Supervisor) Paused() bool { return s.paused.Load() }

// SetPaused pauses or resumes all servers. While they are paused, neither a call nor a changed
// configuration starts a server, and lists are answered from the registry. The state is not
// stored: a daemon that starts is not paused.
//
// SetPaused notifies every server even if ctx is done. When pausing, it waits until all servers
// have stopped or ctx is done; a second call waits for the same.
func (s *Supervisor) SetPaused(ctx context.Context, on bool) error {
	s.mu.Lock()
	changed := s.paused.Swap(on) != on
	runners := s.fleet.Load().order
	if changed {
		for _, r := range runners {
			r.post(func() {
				if on {
					r.retireInstances()
				}
				r.applyConfig(false, true)
			})
		}
	}
	s.mu.Unlock()
	// The runners execute posted functions in order.
	for _, r := range runners {
		if err := r.ask(ctx, func() error { return nil }); err != nil && !errors.Is(err, errInstanceEnded) {
			return err
		}
	}
	if !on {
		return nil
	}
	for _, r := range runners {
		for _, one := range append([]*runner{r}, r.instances()...) {
			if err := one.awaitStopped(ctx); err != nil {
				return err
			}
		}
		if err := r.perCall.awaitIdle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// errPaused returns the error of calls and commands while the servers are paused.
func errPaused() error {
	return &core.Error{
		Code: core.CodeUnavailable, Message: "all servers are paused", Retriable: true,
		Hint: "Resume them in the tray menu or in the window's settings.",
	}
}
