package store

import (
	"fmt"
	"sync"
	"time"
)

// The sums of closed time spans change only when a call is deleted or arrives late. The results
// of recent queries over them are cached for a short time, so that redrawing a chart reads
// only the open spans.
const (
	finishedFor = time.Minute
	maxFinished = 5000 // sums or counts that are cached for one query
)

// resultCache caches the result of the last query of one kind.
type resultCache[T any] struct {
	mu   sync.Mutex // guards the fields below
	key  string
	gen  uint64
	at   time.Time
	what *T // never changed
}

// get returns the value that was stored for key in the same generation, or nil.
func (f *resultCache[T]) get(key string, gen uint64) *T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.what == nil || f.key != key || f.gen != gen || time.Since(f.at) > finishedFor {
		return nil
	}
	return f.what
}

func (f *resultCache[T]) put(key string, gen uint64, what *T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.key, f.gen, f.at, f.what = key, gen, time.Now(), what
}

// expire drops what is older than its lifetime, or everything.
func (f *resultCache[T]) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.at) > finishedFor {
		f.what = nil
	}
}

// splitClosed splits ranges into closed and open spans.
func splitClosed(ranges []part, now time.Time) (past, open []part) {
	for _, p := range ranges {
		edge := now.Unix() - now.Unix()%p.span
		if edge > p.from {
			past = append(past, part{p.span, p.from, min(p.to, edge)})
		}
		if edge < p.to {
			open = append(open, part{p.span, max(p.from, edge), p.to})
		}
	}
	return past, open
}

func keyOf(ranges []part, more ...any) string { return fmt.Sprintf("%v%q", ranges, more) }

// late reports whether calls are added to closed spans.
func (r rollups) late(now time.Time) bool {
	for k := range r {
		if k.at+k.span <= now.Unix() {
			return true
		}
	}
	return false
}
