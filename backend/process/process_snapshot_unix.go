//go:build linux || darwin

package process

import (
	"os"
	"sync"
)

// snapshot is what one look at the processes saw. Many trees that end at the same time
// share it: with a look each, twenty stubborn servers would keep the machine busy
// with looking.
type snapshot struct {
	all   []processInfo
	byPID map[int]processInfo
	done  chan struct{} // closed when the look is over

	mu    sync.Mutex // guards marks
	marks map[int]string
}

// lookout makes one snapshot at a time.
var lookout struct {
	mu   sync.Mutex // guards next
	next *snapshot  // of those who wait for a look to begin
	eye  sync.Mutex // held by the one who looks
}

// snapshotDescendants returns a snapshot that was begun after the call.
func snapshotDescendants() *snapshot {
	lookout.mu.Lock()
	s := lookout.next
	first := s == nil
	if first {
		s = &snapshot{done: make(chan struct{}), marks: make(map[int]string)}
		lookout.next = s
	}
	lookout.mu.Unlock()
	if !first {
		<-s.done
		return s
	}
	lookout.eye.Lock()
	defer lookout.eye.Unlock()
	lookout.mu.Lock()
	lookout.next = nil // who comes now has to wait for the next one
	lookout.mu.Unlock()
	defer close(s.done)
	s.all = listDescendants()
	s.byPID = make(map[int]processInfo, len(s.all))
	for _, p := range s.all {
		s.byPID[p.pid] = p
	}
	return s
}

// mark is the mark of one of the processes.
func (s *snapshot) mark(pid int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	mark, known := s.marks[pid]
	if !known && pid != os.Getpid() {
		mark = variable(pid, MarkVariable)
		s.marks[pid] = mark
	}
	return mark
}
