package supervisor

import (
	"sync"

	"drawbridge/backend/hub"
)

// eras remembers for this run which era servers turned out to speak, so that the next
// start begins with it: finding out costs a request, and some servers a process.
type eras struct {
	mu   sync.Mutex
	seen map[string]hub.Era
	next map[string]hub.Era // to begin with, after a process that exited on the other one
}

// first is the era to begin with, and whether that is only a guess.
func (e *eras) first(key string) (era hub.Era, guessed bool) {
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
func (e *eras) exited(key string, tried hub.Era) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.seen, key)
	if tried == hub.Modern {
		delete(e.next, key)
		return
	}
	if e.next == nil || len(e.next) >= maxEras {
		e.next = map[string]hub.Era{}
	}
	e.next[key] = hub.Modern
}

// maxEras bounds what is remembered.
const maxEras = 1000

func (e *eras) note(key string, era hub.Era) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen == nil || len(e.seen) >= maxEras {
		e.seen = map[string]hub.Era{}
	}
	e.seen[key] = era
	delete(e.next, key)
}
