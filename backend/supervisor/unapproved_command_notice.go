package supervisor

import (
	"fmt"
	"slices"
	"sync"
	"time"

	events "github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// noticeSuppression is how long SuppressCommandNotice suppresses the notice of a server.
const noticeSuppression = time.Minute

// notices holds notices about new commands that need no approval. A notice remains
// until the user dismisses it or the server is removed.
type notices struct {
	mu              sync.Mutex
	list            []events.Notice
	suppressedUntil map[string]time.Time // by server: suppressed until
}

// Notices returns the notices about new commands that need no approval, oldest first.
func (s *Supervisor) Notices() []events.Notice {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	list := slices.Clone(s.notices.list)
	if n := s.pauseNotice(); n.Message != "" {
		list = append([]events.Notice{n}, list...)
	}
	return list
}

// Dismiss removes a notice that the user has seen. It reports whether there was one.
func (s *Supervisor) Dismiss(subject string) bool {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	for i, n := range s.notices.list {
		if n.Subject == subject {
			s.notices.list = slices.Delete(s.notices.list, i, i+1)
			s.o.Bus.Publish(events.UserNotice, events.Notice{Subject: subject})
			return true
		}
	}
	return false
}

// SuppressCommandNotice suppresses the next notice about the command of a server, because the user
// is adding the server at this moment. It expires after one minute.
func (s *Supervisor) SuppressCommandNotice(id string) {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	if s.notices.suppressedUntil == nil {
		s.notices.suppressedUntil = map[string]time.Time{}
	}
	s.notices.suppressedUntil[id] = time.Now().Add(noticeSuppression)
}

// addCommandNotice publishes a notice that c has a new command, whether it runs now, starts later
// or is disabled. was is the command that it ran before, or "" if unknown.
func (s *Supervisor) addCommandNotice(c *config.Server, was string) {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	until, expected := s.notices.suppressedUntil[c.ID]
	delete(s.notices.suppressedUntil, c.ID)
	if expected && time.Now().Before(until) {
		return
	}
	label := c.Label
	if label == "" {
		label = c.ID
	}
	n := events.Notice{Subject: events.UnapprovedCommandSubject + c.ID, Message: fmt.Sprintf("Server %q has a new command: %s", label, commandText(c))}
	if was != "" && was != commandText(c) {
		n.Message += " (before: " + was + ")"
	}
	s.notices.list = append(slices.DeleteFunc(s.notices.list, func(o events.Notice) bool { return o.Subject == n.Subject }), n)
	s.o.Bus.Publish(events.UserNotice, n)
}

// dropStaleNotices removes the notices of servers that are no longer configured.
func (s *Supervisor) dropStaleNotices(fl *fleet) {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	s.notices.list = slices.DeleteFunc(s.notices.list, func(n events.Notice) bool {
		if _, there := fl.byID[n.Subject[len(events.UnapprovedCommandSubject):]]; there {
			return false
		}
		s.o.Bus.Publish(events.UserNotice, events.Notice{Subject: n.Subject})
		return true
	})
}
