package bridge

import "sync"

// limiter counts what each client holds at the moment.
type limiter struct {
	most int

	mu   sync.Mutex
	held map[string]int
}

func newLimiter(most int) *limiter { return &limiter{most: most, held: map[string]int{}} }

// enter reports whether one more is allowed; if so, leave must follow.
func (l *limiter) enter(who string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[who] >= l.most {
		return false
	}
	l.held[who]++
	return true
}

func (l *limiter) leave(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[who]--; l.held[who] <= 0 {
		delete(l.held, who)
	}
}
