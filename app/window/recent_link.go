package window

import (
	"sync"
	"time"
)

// linkLife is how long after its arrival a link is followed by pages that finish loading.
const linkLife = 30 * time.Second

// recentLink is the place that the daemon asked for last. WebKit drops a script without a word when
// another process takes over the page at that moment, as it does between the entrance and the
// daemon's page: so each page that has finished loading soon after is led there once more.
type recentLink struct {
	mu sync.Mutex
	to string
	at time.Time
}

func (l *recentLink) set(to string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to, l.at = to, now
}

// place is where a page that is ready now is led to; "" is nowhere.
func (l *recentLink) place(now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if age := now.Sub(l.at); age < 0 || age > linkLife {
		return ""
	}
	return l.to
}
