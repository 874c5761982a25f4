package supervisor

// phase is where a server's instance is. A new process begins only on the way into
// phaseStarting, and phaseStarting is entered only where nothing runs any more.
type phase uint8

const (
	phaseStopped  phase = iota
	phaseStarting       // one start is under way
	phaseRunning        // connected and listed
	phaseStopping       // what runs is being ended
	phaseBackoff        // a timer stands before the next start
	phaseWaiting        // the same, for something outside of our reach
	phaseCrashed        // gave up
)

// state is the machine's whole memory.
type state struct {
	phase    phase
	failures int  // starts and runs in a row that ended badly
	limit    int  // failures after which it gives up; at least 1
	failed   bool // in phaseStopping: it ended by itself, so the failure counts
	away     bool // in phaseStopping: it is to be waited for, without counting
}

// event is what can happen to a server.
type event uint8

const (
	evWanted    event = iota // look again at what is wanted
	evRenew                  // the user or a new configuration wants a fresh start
	evCall                   // a client needs it now
	evConnected              // the start succeeded
	evFailed                 // the start failed and left nothing behind; it may succeed later
	evRefused                // the same, and it cannot succeed as it is configured
	evAbsent                 // the same, because something outside is not there
	evLost                   // the connection broke, or the server fell silent
	evAway                   // the same, of a server elsewhere: it is not ours that failed
	evEnded                  // the stop is complete: nothing is left
	evTimer                  // the backoff has passed
	evHealthy                // it has run well for a while
)

// action is what the loop has to do next. Each is done before the next event is read.
type action uint8

const (
	doNothing action = iota
	doStart          // begin one start; it ends in evConnected, evFailed, evRefused or evAbsent
	doStop           // end what runs or is being started, then evEnded; a start that ends meanwhile is not told
	doWait           // arm the timer for failures
)

// next is the whole machine: no clock, no lock, no I/O.
// An event that a state has no use for changes nothing.
//
//	stopped ─▶ starting ─▶ running ─▶ stopping ─▶ stopped
//	             ▲   │                   │
//	             │   ▼                   │
//	           backoff, waiting ◀────────┤
//	             │                       ▼
//	             └──────────────────▶ crashed
func next(s state, wanted bool, e event) (state, action) {
	if e == evRenew {
		s.failures, s.failed, s.away = 0, false, false
	}
	switch s.phase {
	case phaseStopped:
		if wanted {
			return start(s)
		}
	case phaseStarting:
		switch {
		case !wanted && e == evWanted, e == evRenew:
			return stop(s, false)
		case e == evConnected:
			s.phase = phaseRunning
		case e == evFailed:
			return fail(s)
		case e == evRefused: // at once, whatever came before
			s.phase, s.failures = phaseCrashed, 0
		case e == evAbsent:
			s.phase = phaseWaiting
			return s, doWait
		}
	case phaseRunning:
		switch {
		case !wanted, e == evRenew:
			return stop(s, false)
		case e == evLost:
			return stop(s, true)
		case e == evAway:
			s, a := stop(s, false)
			s.away = true
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
			return fail(s)
		case s.away:
			s.phase, s.away = phaseWaiting, false
			return s, doWait
		default:
			return start(s)
		}
	case phaseBackoff, phaseWaiting:
		switch {
		case !wanted:
			return state{limit: s.limit}, doNothing
		case e == evTimer, e == evRenew, e == evCall && s.phase == phaseWaiting:
			return start(s)
		}
	case phaseCrashed:
		switch {
		case !wanted:
			return state{limit: s.limit}, doNothing
		case e == evRenew:
			return start(s)
		case e == evCall: // one more chance: the next failure gives up again at once
			s.failures = s.limit - 1
			return start(s)
		}
	}
	return s, doNothing
}

func start(s state) (state, action) {
	s.phase, s.failed = phaseStarting, false
	return s, doStart
}

func stop(s state, failed bool) (state, action) {
	s.phase, s.failed, s.away = phaseStopping, failed, false
	return s, doStop
}

func fail(s state) (state, action) {
	s.failed = false
	if s.failures++; s.failures >= s.limit {
		s.phase = phaseCrashed
		return s, doNothing
	}
	s.phase = phaseBackoff
	return s, doWait
}
