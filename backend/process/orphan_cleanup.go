package process

import "slices"

// Orphan is a process of a former run that Sweep ended.
type Orphan struct {
	PID  int
	Name string // whose process it was
}

// EndOrphans ends what former runs with the same ledger left behind: processes that
// carry our instance's mark of another run, those in the ledger, and all their
// offspring. Only processes of the same user are touched, never this process or
// its parents. It returns what it ended, within about a second.
//
// Nothing must be started before it returns. Hold the lock on the data folder: a daemon
// that is still alive would lose its servers.
func (s *Spawner) EndOrphans() ([]Orphan, error) {
	if s.ledger == nil {
		return nil, nil
	}
	entries, err := s.ledger.earlier()
	swept := endOrphansOf(s.instance, s.run, entries)
	slices.SortFunc(swept, func(a, b Orphan) int { return a.PID - b.PID })
	if len(swept) > 0 {
		s.log.Info("Processes of an earlier run ended", "count", len(swept))
	}
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	if werr := s.ledger.write(); err == nil {
		err = werr
	}
	return swept, err
}
