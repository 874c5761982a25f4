package window

import (
	"sync"
	"time"
)

// wishFor is how long after its arrival a wish holds for pages that finish loading.
const wishFor = 30 * time.Second

// wish is the place that the daemon asked for last. WebKit drops a script without a word when
// another process takes over the page at that moment, as it does between the entrance and the
// daemon's page: so each page that has finished loading soon after is led there once more.
type wish struct {
	mu sync.Mutex
	to string
	at time.Time
}

func (w *wish) set(to string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to, w.at = to, now
}

// place is where a page that is ready now is led to; "" is nowhere.
func (w *wish) place(now time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if age := now.Sub(w.at); age < 0 || age > wishFor {
		return ""
	}
	return w.to
}
