package supervisor

import (
	"fmt"
	"slices"
	"sync"
	"time"

	events "github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// expectFor is how long Expect suppresses the notice of a server.
const expectFor = time.Minute

// notices holds notices about new commands that were started without approval. A notice remains
// until the user dismisses it or the server is removed.
type notices struct {
	mu       sync.Mutex
	list     []events.Notice
	expected map[string]time.Time // by server: suppressed until
}

// Notices returns the notices about new commands that run without approval, oldest first.
func (s *Supervisor) Notices() []events.Notice {
	s.news.mu.Lock()
	defer s.news.mu.Unlock()
	return slices.Clone(s.news.list)
}

// Dismiss removes a notice that the user has seen. It reports whether there was one.
func (s *Supervisor) Dismiss(subject string) bool {
	s.news.mu.Lock()
	defer s.news.mu.Unlock()
	for i, n := range s.news.list {
		if n.Subject == subject {
			s.news.list = slices.Delete(s.news.list, i, i+1)
			s.o.Bus.Publish(events.Health, events.Notice{Subject: subject})
			return true
		}
	}
	return false
}

// Expect suppresses the next notice about the command of a server, because the user is adding the
// server at this moment. It expires after one minute.
func (s *Supervisor) Expect(id string) {
	s.news.mu.Lock()
	defer s.news.mu.Unlock()
	if s.news.expected == nil {
		s.news.expected = map[string]time.Time{}
	}
	s.news.expected[id] = time.Now().Add(expectFor)
}

// noteCommand publishes a notice that c runs a new command. was is the command that it ran
// before, or "" if unknown.
func (s *Supervisor) noteCommand(c *config.Server, was string) {
	s.news.mu.Lock()
	defer s.news.mu.Unlock()
	until, expected := s.news.expected[c.ID]
	delete(s.news.expected, c.ID)
	if expected && time.Now().Before(until) {
		return
	}
	label := c.Label
	if label == "" {
		label = c.ID
	}
	n := events.Notice{Subject: events.CommandSubject + c.ID, Message: fmt.Sprintf("Server %q runs a new command: %s", label, commandText(c))}
	if was != "" && was != commandText(c) {
		n.Message += " (before: " + was + ")"
	}
	s.news.list = append(slices.DeleteFunc(s.news.list, func(o events.Notice) bool { return o.Subject == n.Subject }), n)
	s.o.Bus.Publish(events.Health, n)
}

// forgetNotices removes the notices of servers that are no longer configured.
func (s *Supervisor) forgetNotices(fl *fleet) {
	s.news.mu.Lock()
	defer s.news.mu.Unlock()
	s.news.list = slices.DeleteFunc(s.news.list, func(n events.Notice) bool {
		if _, there := fl.byID[n.Subject[len(events.CommandSubject):]]; there {
			return false
		}
		s.o.Bus.Publish(events.Health, events.Notice{Subject: n.Subject})
		return true
	})
}
