package supervisor

// phase is the lifecycle phase of a server instance. A new process is started only on entering
// phaseStarting, and phaseStarting is entered only when no process runs.
type phase uint8

const (
	phaseStopped  phase = iota
	phaseStarting       // a start is in progress
	phaseRunning        // connected and listed
	phaseStopping       // the process or the start is being stopped
	phaseBackoff        // a timer runs until the next start
	phaseWaiting        // the same, because of an external dependency
	phaseCrashed        // gave up after too many failures
)

// state is the whole state of the machine.
type state struct {
	phase       phase
	failures    int  // consecutive failed starts and runs
	limit       int  // number of failures after which it gives up; at least 1
	failed      bool // in phaseStopping: the process ended by itself, so it counts as a failure
	unreachable bool // in phaseStopping: the server is remote and unreachable, which is no failure
}

type event uint8

const (
	evWanted            event = iota // whether the server is wanted may have changed
	evRestart                        // the user or a new configuration wants a fresh start
	evCall                           // a client calls it
	evConnected                      // the start succeeded
	evFailed                         // the start failed and no process is left; a retry may succeed
	evRefused                        // the same, but it cannot succeed with this configuration
	evDependencyMissing              // the same, because an external dependency is missing
	evLost                           // the connection broke, or the server no longer answers
	evUnreachable                    // the same, for a remote server: no process of ours failed
	evEnded                          // the stop is complete: no process is left
	evTimer                          // the backoff timer fired
	evHealthy                        // it has run without failure for a while
)

// action is what the loop has to do next. It is done before the next event is handled.
type action uint8

const (
	doNothing action = iota
	doStart          // begin a start, which ends with evConnected, evFailed, evRefused or evDependencyMissing
	doStop           // stop the process or the start, which ends with evEnded; the result of the start is dropped
	doWait           // set the backoff timer
)

// next is the transition function. It uses no clock, no lock and no I/O.
// An event that does not apply to a state changes nothing.
//
//	stopped ─▶ starting ─▶ running ─▶ stopping ─▶ stopped
//	             ▲   │                   │
//	             │   ▼                   │
//	           backoff, waiting ◀────────┤
//	             │                       ▼
//	             └──────────────────▶ crashed
func next(s state, wanted bool, e event) (state, action) {
	if e == evRestart {
		s.failures, s.failed, s.unreachable = 0, false, false
	}
	switch s.phase {
	case phaseStopped:
		if wanted {
			return enterStarting(s)
		}
	case phaseStarting:
		switch {
		case !wanted && e == evWanted, e == evRestart:
			return enterStopping(s, false)
		case e == evConnected:
			s.phase = phaseRunning
		case e == evFailed:
			return countFailure(s)
		case e == evRefused: // at once, however few failures there were
			s.phase, s.failures = phaseCrashed, 0
		case e == evDependencyMissing:
			s.phase = phaseWaiting
			return s, doWait
		}
	case phaseRunning:
		switch {
		case !wanted, e == evRestart:
			return enterStopping(s, false)
		case e == evLost:
			return enterStopping(s, true)
		case e == evUnreachable:
			s, a := enterStopping(s, false)
			s.unreachable = true
			return s, a
		case e == evHealthy:
			s.failures = 0
		}
	case phaseStopping:
		switch {
		case e != evEnded:
		case !wanted:
			return state{limit: s.limit}, doNothing
		case s.failed:
			return countFailure(s)
		case s.unreachable:
			s.phase, s.unreachable = phaseWaiting, false
			return s, doWait
		default:
			return enterStarting(s)
		}
	case phaseBackoff, phaseWaiting:
		switch {
		case !wanted:
			return state{limit: s.limit}, doNothing
		case e == evTimer, e == evRestart, e == evCall && s.phase == phaseWaiting:
			return enterStarting(s)
		}
	case phaseCrashed:
		switch {
		case !wanted:
			return state{limit: s.limit}, doNothing
		case e == evRestart:
			return enterStarting(s)
		case e == evCall: // one more attempt: the next failure gives up again
			s.failures = s.limit - 1
			return enterStarting(s)
		}
	}
	return s, doNothing
}

func enterStarting(s state) (state, action) {
	s.phase, s.failed = phaseStarting, false
	return s, doStart
}

func enterStopping(s state, failed bool) (state, action) {
	s.phase, s.failed, s.unreachable = phaseStopping, failed, false
	return s, doStop
}

func countFailure(s state) (state, action) {
	s.failed = false
	if s.failures++; s.failures >= s.limit {
		s.phase = phaseCrashed
		return s, doNothing
	}
	s.phase = phaseBackoff
	return s, doWait
}
