package store

import "time"

// stepGoal is how long one step of background work may hold the write lock. Calls must be on
// disk within 100 ms, of which batching takes up to 50 ms.
const stepGoal = 20 * time.Millisecond

// stepSize is the number of rows of the next step. It adapts to the duration of the last step:
// the cost of a row varies a hundredfold with the load, its payload and its words.
type stepSize struct{ rows, most int }

// adjust adapts the size to d, the time for which the last step held the write lock.
func (s *stepSize) adjust(d time.Duration) {
	switch {
	case d > stepGoal:
		s.rows = max(s.rows/2, 1)
	case d < stepGoal/2:
		s.rows = min(s.rows*2, s.most)
	}
}
