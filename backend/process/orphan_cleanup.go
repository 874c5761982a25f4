package process

import (
	"path/filepath"
	"slices"
	"strings"
)

// Orphan is a process of an earlier run that EndOrphans ended.
type Orphan struct {
	PID  int
	Name string // the server that it belonged to
}

// EndOrphans ends the processes that earlier runs with the same ledger left behind: those with
// the mark of another run of this instance, those in the ledger, and all their descendants.
// It affects only processes of the same user, and never this process or its parents. It
// returns the processes that it ended, within about a second.
//
// No server may be started before it returns. The caller must hold the lock of the data folder,
// because otherwise the servers of a running daemon would be ended.
func (s *Spawner) EndOrphans() ([]Orphan, error) {
	if s.ledger == nil {
		return nil, nil
	}
	entries, err := s.ledger.readEarlier()
	ended := endOrphansOf(s.instance, s.run, entries)
	for _, e := range entries { // the earlier run may have had another group, such as that of its terminal
		if run := filepath.Dir(e.Group); strings.HasPrefix(filepath.Base(run), cgroupPrefix+s.instance+"-") {
			endCgroup(run)
		}
	}
	endCgroups(s.instance+"-*", s.instance+"-"+s.run)
	slices.SortFunc(ended, func(a, b Orphan) int { return a.PID - b.PID })
	if len(ended) > 0 {
		s.log.Info("Stopped processes left over from an earlier run", "count", len(ended))
	}
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	if werr := s.ledger.write(); err == nil {
		err = werr
	}
	return ended, err
}
