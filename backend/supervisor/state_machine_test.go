package supervisor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// lifecycleModel is a model of what the state machine controls. It performs the actions as the
// runner does, and counts processes.
type lifecycleModel struct {
	s         state
	wanted    bool
	starting  bool // a start is in progress: a process may exist
	processes int
	stopping  bool
	timer     bool
}

func (w *lifecycleModel) send(e event) error {
	s, a := next(w.s, w.wanted, e)
	if w.s.phase != s.phase && (w.s.phase == phaseBackoff || w.s.phase == phaseWaiting) {
		w.timer = false
	}
	w.s = s
	switch a {
	case doStart:
		if w.starting || w.processes > 0 || w.stopping {
			return fmt.Errorf("a second process: %+v", w)
		}
		w.starting = true
	case doStop:
		if w.stopping {
			return fmt.Errorf("stopped twice: %+v", w)
		}
		w.stopping = true
	case doWait:
		w.timer = true
	}
	return nil
}

// try triggers one event if it is possible in the current state of the model.
func (w *lifecycleModel) try(b byte) error {
	switch b % 12 {
	case 0, 1: // the wish of the user changes
		w.wanted = !w.wanted
		return w.send(evWanted)
	case 2:
		return w.send(evRestart)
	case 3:
		return w.send(evCall)
	case 4: // the start succeeds
		if w.starting && !w.stopping {
			w.starting, w.processes = false, w.processes+1
			return w.send(evConnected)
		}
	case 5, 6, 7: // the start fails
		if w.starting && !w.stopping {
			w.starting = false
			return w.send([]event{evFailed, evRefused, evDependencyMissing}[b%12-5])
		}
	case 8:
		if w.processes > 0 && !w.stopping {
			return w.send(evLost)
		}
	case 9:
		if w.stopping {
			w.stopping, w.starting, w.processes = false, false, 0
			return w.send(evEnded)
		}
	case 11:
		if w.processes > 0 && !w.stopping {
			return w.send(evUnreachable)
		}
	case 10:
		if w.timer {
			w.timer = false
			return w.send(evTimer)
		}
		return w.send(evHealthy)
	}
	return nil
}

// settle completes everything that is in progress, without failures.
func (w *lifecycleModel) settle() error {
	for range 20 {
		for _, b := range []byte{9, 4, 10} {
			if err := w.try(b); err != nil {
				return err
			}
		}
		if w.s.phase == phaseCrashed {
			if err := w.send(evRestart); err != nil {
				return err
			}
		}
	}
	return nil
}

// FuzzNext checks two invariants: there is never a second process for one instance, and in the
// end the server runs exactly if it is wanted.
func FuzzNext(f *testing.F) {
	f.Add([]byte{0, 4, 8, 9, 10, 4, 0, 9})
	f.Add([]byte{0, 5, 10, 5, 10, 5, 10, 5, 10, 5, 3, 5, 2, 4})
	f.Add([]byte{0, 2, 2, 9, 7, 10, 6, 3, 0, 0, 9})
	f.Add([]byte{0, 4, 11, 9, 3, 7, 10, 4, 11, 2, 9})
	f.Fuzz(func(t *testing.T, script []byte) {
		w := &lifecycleModel{s: state{limit: 3}}
		for i, b := range script {
			require.NoErrorf(t, w.try(b), "step %d of %v", i, script)
		}
		require.NoErrorf(t, w.settle(), "settling after %v", script)
		runs := w.processes == 1 && w.s.phase == phaseRunning
		require.Equal(t, w.wanted, runs, script)
	})
}
