package store

import "time"

// stepGoal is the target duration for which one step of background work holds the write lock.
// Calls must be on disk within 100 ms, of which batching takes up to 50 ms.
const stepGoal = 20 * time.Millisecond

// stepSize is the number of rows that the next step processes. It adapts to the duration of the
// previous step, because the cost of a row varies a hundredfold with the load, the size of its
// payload and its number of words.
type stepSize struct{ rows, maxRows int }

// adjust adapts the size to d, the time for which the previous step held the write lock.
func (s *stepSize) adjust(d time.Duration) {
	switch {
	case d > stepGoal:
		s.rows = max(s.rows/2, 1)
	case d < stepGoal/2:
		s.rows = min(s.rows*2, s.maxRows)
	}
}
