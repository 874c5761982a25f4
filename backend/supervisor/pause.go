package supervisor

import (
	"context"
	"errors"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Paused reports whether all servers are held back.
func (s *Supervisor) Paused() bool { return s.paused.Load() }

// SetPaused holds all servers back, or lets those run again that the configuration
// wants. It is not stored: a daemon that starts is not paused. While it lasts nothing
// starts a server, neither a call nor a changed configuration, and lists answer from
// what is known. Every server is told, also when ctx ends first: ctx limits only how long
// SetPaused waits until nothing runs any more. A second call waits for the same.
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
				r.reconfigured(false, true)
			})
		}
	}
	s.mu.Unlock()
	// What is posted now runs after what was posted above.
	for _, r := range runners {
		if err := r.ask(ctx, func() error { return nil }); err != nil && !errors.Is(err, errGone) {
			return err
		}
	}
	if !on {
		return nil
	}
	for _, r := range runners {
		for _, one := range append([]*runner{r}, r.instances()...) {
			if err := one.stopped(ctx); err != nil {
				return err
			}
		}
		if err := r.perCall.ended(ctx); err != nil {
			return err
		}
	}
	return nil
}

// errPaused is what a call and a command get meanwhile.
func errPaused() error {
	return &core.Error{
		Code: core.CodeUnavailable, Message: "all servers are paused", Retriable: true,
		Hint: "Resume them in the tray menu or in the window's settings.",
	}
}
