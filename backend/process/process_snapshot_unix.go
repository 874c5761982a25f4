//go:build linux || darwin

package process

import (
	"os"
	"sync"
)

// snapshot is a process list that trees which end at the same time share. With a list for each of
// them, twenty servers that do not exit would keep the machine busy.
type snapshot struct {
	all   []processInfo
	byPID map[int]processInfo
	done  chan struct{} // closed when the list is complete

	mu    sync.Mutex // guards marks
	marks map[int]string
}

var snapshots struct {
	mu   sync.Mutex // guards next
	next *snapshot  // shared by all callers that wait for the next list
	eye  sync.Mutex // held while a list is made
}

// snapshotDescendants returns a snapshot that was begun after the call.
func snapshotDescendants() *snapshot {
	snapshots.mu.Lock()
	s := snapshots.next
	first := s == nil
	if first {
		s = &snapshot{done: make(chan struct{}), marks: make(map[int]string)}
		snapshots.next = s
	}
	snapshots.mu.Unlock()
	if !first {
		<-s.done
		return s
	}
	snapshots.eye.Lock()
	defer snapshots.eye.Unlock()
	snapshots.mu.Lock()
	snapshots.next = nil // later callers wait for the next list
	snapshots.mu.Unlock()
	defer close(s.done)
	s.all = listDescendants()
	s.byPID = make(map[int]processInfo, len(s.all))
	for _, p := range s.all {
		s.byPID[p.pid] = p
	}
	return s
}

// mark returns the mark of a process, or "".
func (s *snapshot) mark(pid int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	mark, known := s.marks[pid]
	if !known && pid != os.Getpid() {
		mark = environVariable(pid, MarkVariable)
		s.marks[pid] = mark
	}
	return mark
}
