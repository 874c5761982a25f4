package upstream

import (
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// eraCache caches for this run which era each server speaks, so that the next start begins with it.
// Probing costs a request, and for some servers a process.
type eraCache struct {
	mu    sync.Mutex
	known map[string]core.Era
	next  map[string]core.Era // era to try first, after a process exited in the other one
}

// firstEra returns the era to try first, and whether it is only a guess.
func (e *eraCache) firstEra(key string) (era core.Era, guessed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if era, ok := e.known[key]; ok {
		return era, false
	}
	era, guessed = e.next[key]
	return era, guessed
}

// recordExit records that a process exited before it answered. The next start tries the other era
// first, because it may be the only one that the server speaks.
func (e *eraCache) recordExit(key string, tried core.Era) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, key)
	if tried == core.Modern {
		delete(e.next, key)
		return
	}
	if e.next == nil || len(e.next) >= maxEras {
		e.next = map[string]core.Era{}
	}
	e.next[key] = core.Modern
}

// maxEras is the maximum number of entries in each map of eras. A full map is cleared.
const maxEras = 1000

func (e *eraCache) recordEra(key string, era core.Era) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil || len(e.known) >= maxEras {
		e.known = map[string]core.Era{}
	}
	e.known[key] = era
	delete(e.next, key)
}
