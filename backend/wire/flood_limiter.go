package wire

import (
	"sync"
	"time"
)

// floodLimiter is a token bucket with the capacity floodBurst and floodRate tokens per second.
type floodLimiter struct {
	mu     sync.Mutex
	tokens float64
	last   time.Time
	warned bool
}

const (
	floodBurst = 1000
	floodRate  = 200
)

func (l *floodLimiter) reset(now time.Time) { l.tokens, l.last = floodBurst, now }

// allow takes one token. first is true for the first refusal of each flood.
func (l *floodLimiter) allow(now time.Time) (ok, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens = min(floodBurst, l.tokens+now.Sub(l.last).Seconds()*floodRate)
	l.last = now
	if l.tokens >= floodBurst/2 {
		l.warned = false
	}
	if l.tokens < 1 {
		first = !l.warned
		l.warned = true
		return false, first
	}
	l.tokens--
	return true, false
}
