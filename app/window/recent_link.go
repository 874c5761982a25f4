package window

import (
	"sync"
	"time"
)

// linkLifetime is how long after a link arrives pages that finish loading are navigated to it.
const linkLifetime = 30 * time.Second

// recentLink is the route that the daemon last requested. WebKit silently drops a script if another
// process takes over the page at that moment, which happens between the entry page and the
// daemon's page. Therefore each page that finishes loading soon after is navigated to the route
// again.
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

// route returns the route that a page that has finished loading is navigated to, or "" for none.
func (l *recentLink) route(now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if age := now.Sub(l.at); age < 0 || age > linkLifetime {
		return ""
	}
	return l.to
}
