package main

import (
	"fmt"
	"path/filepath"

	"drawbridge/backend/event"
	"drawbridge/config"
)

// leftovers are what an earlier run left behind and the start of this one ended.
type leftovers struct {
	processes int
	contained int // processes in containers, and containers
}

// notices tells the person of it, in at most one sentence. It stays until the next start.
func (l leftovers) notices() []event.Notice {
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
	return []event.Notice{{Subject: "cleanup", Message: "Ended " + what + " that an earlier run left behind."}}
}

func counted(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

// execLedger is the folder in which processes inside containers are kept for a sweep.
func execLedger(f config.Folders) string { return filepath.Join(f.State, "containers") }
