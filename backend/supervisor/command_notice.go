package supervisor

import (
	"fmt"
	"slices"
	"sync"
	"time"

	events "github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// expectFor is how long Expect holds.
const expectFor = time.Minute

// notices are what the user should know of commands that were applied without asking.
// They stay until somebody has seen them.
type notices struct {
	mu       sync.Mutex
	list     []events.Notice
	expected map[string]time.Time // by server: until when
}

// Notices lists the new commands that run without having been asked for, oldest first.
func (s *Supervisor) Notices() []events.Notice {
	s.news.mu.Lock()
	defer s.news.mu.Unlock()
	return slices.Clone(s.news.list)
}

// Dismiss takes a notice back that the user has seen, and reports whether there was one.
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

// Expect says that the user is just adding this server: its command needs no notice.
func (s *Supervisor) Expect(id string) {
	s.news.mu.Lock()
	defer s.news.mu.Unlock()
	if s.news.expected == nil {
		s.news.expected = map[string]time.Time{}
	}
	s.news.expected[id] = time.Now().Add(expectFor)
}

// noteCommand tells people that c runs a command that it did not run before. was is
// what it ran, "" when that is unknown.
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

// forgetNotices takes back the notices of servers that are no longer configured.
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
