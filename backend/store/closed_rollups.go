package store

import (
	"fmt"
	"sync"
	"time"
)

// Sums of spans that are over change only when a call is deleted or comes late. What the
// last questions made of them is kept for a moment, so that a chart that is drawn again
// reads today and nothing else.
const (
	finishedFor = time.Minute
	maxFinished = 5000 // sums, or counts, that are kept of one question
)

// resultCache keeps the answer of one kind of question.
type resultCache[T any] struct {
	mu   sync.Mutex // guards what follows
	key  string
	gen  uint64
	at   time.Time
	what *T // never changed
}

// get returns what was kept under key while gen was what it is now.
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

// expire lets go what is old, or everything.
func (f *resultCache[T]) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.at) > finishedFor {
		f.what = nil
	}
}

// splitClosed splits ranges into the spans that are over and those that are not.
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

// late reports whether something is added to spans that are over.
func (r rollups) late(now time.Time) bool {
	for k := range r {
		if k.at+k.span <= now.Unix() {
			return true
		}
	}
	return false
}
