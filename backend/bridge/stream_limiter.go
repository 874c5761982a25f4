package bridge

import (
	"sync"
	"time"
)

// streamLimiter limits the number of streams that each client holds open at the same time.
type streamLimiter struct {
	limit int

	mu   sync.Mutex
	held map[string]int
	idle chan struct{} // closed when no slot is held; nil unless waitIdle is running
}

func newStreamLimiter(limit int) *streamLimiter {
	return &streamLimiter{limit: limit, held: map[string]int{}}
}

// acquire acquires a slot for a client if one is free. On success, the caller must call release.
func (l *streamLimiter) acquire(client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[client] >= l.limit {
		return false
	}
	l.held[client]++
	return true
}

func (l *streamLimiter) release(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[client]--; l.held[client] <= 0 {
		delete(l.held, client)
	}
	if len(l.held) == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// waitIdle waits until no slot is held, for at most limit. Only one goroutine may wait.
func (l *streamLimiter) waitIdle(limit time.Duration) {
	l.mu.Lock()
	if len(l.held) == 0 {
		l.mu.Unlock()
		return
	}
	empty := make(chan struct{})
	l.idle = empty
	l.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-empty:
	case <-timer.C:
	}
}
