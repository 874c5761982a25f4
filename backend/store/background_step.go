package store

import "time"

// stepGoal is how long a step of work that can wait may hold the file: calls are to be on
// disk within 100 ms, of which they may have waited 50 to be written together.
const stepGoal = 20 * time.Millisecond

// stepSize is how many rows the next step takes. It follows what the last one took: a busy
// machine, a long payload or many words make a row cost a hundred times as much.
type stepSize struct{ rows, most int }

// adjust says how long the last step, of as many rows as were asked for, held the file.
func (s *stepSize) adjust(d time.Duration) {
	switch {
	case d > stepGoal:
		s.rows = max(s.rows/2, 1)
	case d < stepGoal/2:
		s.rows = min(s.rows*2, s.most)
	}
}
