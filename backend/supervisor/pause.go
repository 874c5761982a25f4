package supervisor

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

type pause struct {
	paused atomic.Bool // no server runs, regardless of the configuration
	// pausedUntil is when pauseTimer ends the pause; nil if it does not.
	pausedUntil atomic.Pointer[time.Time]
}

// Paused reports whether all servers are paused.
func (s *pause) Paused() bool { return s.paused.Load() }

// SetPaused pauses or resumes all servers. While they are paused, neither a call nor a changed
// configuration starts a server, and lists are answered from the registry. The state is not
// stored: a daemon that starts is not paused.
//
// A pause that began with PauseFor becomes unlimited, or ends. SetPaused notifies every server even if ctx is done. When pausing, it waits until all servers
// have stopped or ctx is done; a second call waits for the same.
func (s *Supervisor) SetPaused(ctx context.Context, on bool) error {
	return s.setPaused(ctx, on, 0)
}

// setPaused is SetPaused with the limit of the pause; 0 means none.
func (s *Supervisor) setPaused(ctx context.Context, on bool, limit time.Duration) error {
	s.mu.Lock()
	changed := s.paused.Swap(on) != on || limit > 0 || s.pauseTimer != nil
	s.endPauseTimer()
	if limit > 0 && !s.ended {
		s.startPauseTimer(limit)
	}
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
	if changed {
		s.o.Bus.Publish(core.NoticeEvent, s.pauseNotice())
	}
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

// PausedUntil returns when the servers are resumed, or the zero time if they are not paused or the
// pause is unlimited.
func (s *pause) PausedUntil() time.Time {
	if until := s.pausedUntil.Load(); until != nil {
		return *until
	}
	return time.Time{}
}

// PauseFor pauses all servers as SetPaused does, and resumes them after limit. While the machine
// sleeps, that time does not pass.
func (s *Supervisor) PauseFor(ctx context.Context, limit time.Duration) error {
	return s.setPaused(ctx, true, limit)
}

// startPauseTimer resumes the servers after limit. It must be called with s.mu held.
func (s *Supervisor) startPauseTimer(limit time.Duration) {
	until := time.Now().Add(limit)
	s.pausedUntil.Store(&until)
	s.pauseTimer = time.AfterFunc(limit, func() {
		if s.pausedUntil.Load() == &until { // not replaced since
			_ = s.SetPaused(s.stopCtx, false) // fails only at shutdown
		}
	})
}

// endPauseTimer forgets when the servers are resumed. It must be called with s.mu held.
func (s *Supervisor) endPauseTimer() {
	s.pausedUntil.Store(nil)
	if s.pauseTimer != nil {
		s.pauseTimer.Stop()
		s.pauseTimer = nil
	}
}

// PausedSubject is the subject of the notice that the servers are paused.
const PausedSubject = "paused"

// pauseNotice returns the notice that the servers are paused. Its message is "" if they are not.
func (s *pause) pauseNotice() core.Notice {
	n := core.Notice{Subject: PausedSubject}
	if s.Paused() {
		n.Message = strings.TrimSpace("All servers are paused "+s.pauseEnd()) + ": calls are refused. Resume them in the tray menu, in the window, or with: drawbridge start --all."
	}
	return n
}

// pauseEnd returns when the pause ends, such as "until 15:04", or "".
func (s *pause) pauseEnd() string {
	if until := s.PausedUntil(); !until.IsZero() {
		return until.Format("until 15:04")
	}
	return ""
}

// errPaused returns the error of calls and commands while the servers are paused.
func (s *pause) errPaused() *core.Error {
	return &core.Error{
		Code: core.CodeUnavailable, Message: strings.TrimSpace("all servers are paused " + s.pauseEnd()), Retriable: true,
		Hint: "Resume them in the tray menu, in the window, or with: drawbridge start --all.",
	}
}
