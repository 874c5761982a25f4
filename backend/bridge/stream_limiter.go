package bridge

import (
	"sync"
	"time"
)

// limiter limits the number of streams that each client holds open at the same time.
type limiter struct {
	most int

	mu    sync.Mutex
	held  map[string]int
	empty chan struct{} // closed when no slot is held; nil unless waitIdle is running
}

func newLimiter(most int) *limiter { return &limiter{most: most, held: map[string]int{}} }

// acquire acquires a slot for a client if one is free. On success, the caller must call release.
func (l *limiter) acquire(who string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[who] >= l.most {
		return false
	}
	l.held[who]++
	return true
}

func (l *limiter) release(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[who]--; l.held[who] <= 0 {
		delete(l.held, who)
	}
	if len(l.held) == 0 && l.empty != nil {
		close(l.empty)
		l.empty = nil
	}
}

// waitIdle waits until no slot is held, for at most limit. Only one goroutine may wait.
func (l *limiter) waitIdle(limit time.Duration) {
	l.mu.Lock()
	if len(l.held) == 0 {
		l.mu.Unlock()
		return
	}
	empty := make(chan struct{})
	l.empty = empty
	l.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-empty:
	case <-timer.C:
	}
}
