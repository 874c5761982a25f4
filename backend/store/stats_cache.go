package store

import (
	"fmt"
	"sync"
	"time"
)

// Rollups of closed time spans change only when a call is deleted or recorded late. Results
// computed from closed spans are cached for resultTTL, so that redrawing a chart reads only the
// rollups of open spans.
const (
	resultTTL        = time.Minute
	maxCachedResults = 5000 // maximum number of sums or counts in one cached result
)

// resultCache caches the result of the most recent query of one kind.
type resultCache[T any] struct {
	mu    sync.Mutex // guards the fields below
	key   string
	gen   uint64
	at    time.Time
	value *T // immutable
}

// get returns the cached value for key if it was stored for the same generation and has not
// expired, or nil.
func (f *resultCache[T]) get(key string, gen uint64) *T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.value == nil || f.key != key || f.gen != gen || time.Since(f.at) > resultTTL {
		return nil
	}
	return f.value
}

func (f *resultCache[T]) put(key string, gen uint64, what *T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.key, f.gen, f.at, f.value = key, gen, time.Now(), what
}

// expire drops the cached value if it has expired.
func (f *resultCache[T]) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.at) > resultTTL {
		f.value = nil
	}
}

// splitClosed splits ranges into those whose spans have ended at now and those whose spans are
// still open.
func splitClosed(ranges []spanRange, now time.Time) (past, open []spanRange) {
	for _, p := range ranges {
		edge := now.Unix() - now.Unix()%p.span
		if edge > p.from {
			past = append(past, spanRange{p.span, p.from, min(p.to, edge)})
		}
		if edge < p.to {
			open = append(open, spanRange{p.span, max(p.from, edge), p.to})
		}
	}
	return past, open
}

func rangesKey(ranges []spanRange, more ...any) string { return fmt.Sprintf("%v%q", ranges, more) }

// hasClosedSpans reports whether r adds calls to spans that are closed.
func (r rollups) hasClosedSpans(now time.Time) bool {
	for k := range r {
		if k.at+k.span <= now.Unix() {
			return true
		}
	}
	return false
}
