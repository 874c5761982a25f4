package supervisor

import (
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// eras remembers for this run which era servers turned out to speak, so that the next
// start begins with it: finding out costs a request, and some servers a process.
type eras struct {
	mu   sync.Mutex
	seen map[string]core.Era
	next map[string]core.Era // to begin with, after a process that exited on the other one
}

// first is the era to begin with, and whether that is only a guess.
func (e *eras) first(key string) (era core.Era, guessed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if era, ok := e.seen[key]; ok {
		return era, false
	}
	era, guessed = e.next[key]
	return era, guessed
}

// exited notes that a process ended before it had answered: its next start begins with the
// other era, which may be the only one that it speaks.
func (e *eras) exited(key string, tried core.Era) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.seen, key)
	if tried == core.Modern {
		delete(e.next, key)
		return
	}
	if e.next == nil || len(e.next) >= maxEras {
		e.next = map[string]core.Era{}
	}
	e.next[key] = core.Modern
}

// maxEras bounds what is remembered.
const maxEras = 1000

func (e *eras) note(key string, era core.Era) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen == nil || len(e.seen) >= maxEras {
		e.seen = map[string]core.Era{}
	}
	e.seen[key] = era
	delete(e.next, key)
}
