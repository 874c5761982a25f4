package supervisor

import (
	"fmt"
	"testing"
)

func TestNext(t *testing.T) {
	for _, c := range []struct {
		name   string
		from   state
		wanted bool
		event  event
		to     state
		action action
	}{
		{"wanted starts", state{limit: 5}, true, evWanted, state{phase: phaseStarting, limit: 5}, doStart},
		{"unwanted stays", state{limit: 5}, false, evCall, state{limit: 5}, doNothing},
		{"connected runs", state{phase: phaseStarting, limit: 5, failures: 2}, true, evConnected, state{phase: phaseRunning, limit: 5, failures: 2}, doNothing},
		{"failed start backs off", state{phase: phaseStarting, limit: 5}, true, evFailed, state{phase: phaseBackoff, limit: 5, failures: 1}, doWait},
		{"last failed start gives up", state{phase: phaseStarting, limit: 5, failures: 4}, true, evFailed, state{phase: phaseCrashed, limit: 5, failures: 5}, doNothing},
		{"a wrong command is not tried again", state{phase: phaseStarting, limit: 5}, true, evRefused, state{phase: phaseCrashed, limit: 5}, doNothing},
		{"what is outside is waited for without counting", state{phase: phaseStarting, limit: 5, failures: 1}, true, evDependencyMissing, state{phase: phaseWaiting, limit: 5, failures: 1}, doWait},
		{"a start is stopped when unwanted", state{phase: phaseStarting, limit: 5}, false, evWanted, state{phase: phaseStopping, limit: 5}, doStop},
		{"a start is stopped for a new configuration", state{phase: phaseStarting, limit: 5, failures: 3}, true, evRestart, state{phase: phaseStopping, limit: 5}, doStop},
		{"a lost server is cleared away first", state{phase: phaseRunning, limit: 5}, true, evLost, state{phase: phaseStopping, limit: 5, failed: true}, doStop},
		{"then it backs off", state{phase: phaseStopping, limit: 5, failed: true}, true, evEnded, state{phase: phaseBackoff, limit: 5, failures: 1}, doWait},
		{"or stops, when nobody wants it", state{phase: phaseStopping, limit: 5, failed: true}, false, evEnded, state{limit: 5}, doNothing},
		{"a restart begins after the end", state{phase: phaseStopping, limit: 5}, true, evEnded, state{phase: phaseStarting, limit: 5}, doStart},
		{"a late connection does not revive a stop", state{phase: phaseStopping, limit: 5}, true, evConnected, state{phase: phaseStopping, limit: 5}, doNothing},
		{"a call does not wait for what is outside to be looked for", state{phase: phaseWaiting, limit: 5, failures: 2}, true, evCall, state{phase: phaseStarting, limit: 5, failures: 2}, doStart},
		{"a lost server elsewhere is cleared away first", state{phase: phaseRunning, limit: 1}, true, evUnreachable, state{phase: phaseStopping, limit: 1, unreachable: true}, doStop},
		{"then it is waited for without counting", state{phase: phaseStopping, limit: 1, unreachable: true}, true, evEnded, state{phase: phaseWaiting, limit: 1}, doWait},
		{"or stops, when nobody wants it elsewhere", state{phase: phaseStopping, limit: 1, unreachable: true}, false, evEnded, state{limit: 1}, doNothing},
		{"or starts at once for the user", state{phase: phaseStopping, limit: 1, unreachable: true}, true, evRestart, state{phase: phaseStopping, limit: 1}, doNothing},
		{"health forgives", state{phase: phaseRunning, limit: 5, failures: 4}, true, evHealthy, state{phase: phaseRunning, limit: 5}, doNothing},
		{"the timer starts again", state{phase: phaseBackoff, limit: 5, failures: 2}, true, evTimer, state{phase: phaseStarting, limit: 5, failures: 2}, doStart},
		{"a call does not shorten the backoff", state{phase: phaseBackoff, limit: 5, failures: 2}, true, evCall, state{phase: phaseBackoff, limit: 5, failures: 2}, doNothing},
		{"the user does", state{phase: phaseBackoff, limit: 5, failures: 2}, true, evRestart, state{phase: phaseStarting, limit: 5}, doStart},
		{"unwanted ends the backoff", state{phase: phaseBackoff, limit: 5, failures: 2}, false, evWanted, state{limit: 5}, doNothing},
		{"a call gives a crashed server one chance", state{phase: phaseCrashed, limit: 5, failures: 5}, true, evCall, state{phase: phaseStarting, limit: 5, failures: 4}, doStart},
		{"a late timer does not", state{phase: phaseCrashed, limit: 5, failures: 5}, true, evTimer, state{phase: phaseCrashed, limit: 5, failures: 5}, doNothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			to, action := next(c.from, c.wanted, c.event)
			if to != c.to || action != c.action {
				t.Fatalf("got %+v, action %d; want %+v, action %d", to, action, c.to, c.action)
			}
		})
	}
}

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
			if err := w.try(b); err != nil {
				t.Fatalf("step %d of %v: %v", i, script, err)
			}
		}
		if err := w.settle(); err != nil {
			t.Fatalf("settling after %v: %v", script, err)
		}
		if runs := w.processes == 1 && w.s.phase == phaseRunning; runs != w.wanted {
			t.Fatalf("wanted %v, but %+v after %v", w.wanted, w, script)
		}
	})
}
