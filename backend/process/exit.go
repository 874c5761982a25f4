package process

import "fmt"

// Exit describes how a process exited.
type Exit struct {
	Code   int    // exit status; -1 if it was terminated by a signal
	Signal string // "killed", "terminated", ...; "" if it was not terminated by a signal
	// SignalledByStop is set if Stop had sent a signal before, which may be why the process exited.
	SignalledByStop bool
}

func (e Exit) String() string {
	if e.Signal != "" {
		return "ended by signal: " + e.Signal
	}
	return fmt.Sprintf("exited with status %d", e.Code)
}
