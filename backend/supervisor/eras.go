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
}

// maxEras bounds what is remembered.
const maxEras = 1000

func (e *eras) of(key string) (hub.Era, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	era, ok := e.seen[key]
	return era, ok
}

func (e *eras) note(key string, era hub.Era) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen == nil || len(e.seen) >= maxEras {
		e.seen = map[string]hub.Era{}
	}
	e.seen[key] = era
}
