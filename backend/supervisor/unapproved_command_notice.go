package supervisor

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// noticeSuppression is how long SuppressCommandNotice suppresses the notice of a server.
const noticeSuppression = time.Minute

// notices holds notices about new commands that need no approval. A notice remains until the user
// dismisses it, the server is removed or its command changes.
type notices struct {
	mu              sync.Mutex
	list            []commandNotice
	suppressedUntil map[string]time.Time // by server, or by exactCommand
}

type commandNotice struct {
	core.Notice
	command string // see commandText
	before  string // the command that the user knows, or "" if unknown
}

// Notices returns the notices about new commands that need no approval, oldest first.
func (s *Supervisor) Notices() []core.Notice {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	var list []core.Notice
	if n := s.pauseNotice(); n.Message != "" {
		list = append(list, n)
	}
	for _, n := range s.notices.list {
		list = append(list, n.Notice)
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
			s.o.Bus.Publish(core.NoticeEvent, core.Notice{Subject: subject})
			return true
		}
	}
	return false
}

// SuppressCommandNotice suppresses the next notice about the command of a server, because the user
// is adding the server, or changes its version, at this moment. It expires after one minute.
func (s *Supervisor) SuppressCommandNotice(id string) { s.suppressNotice(id) }

// ExpectCommand suppresses the next notice about exactly this command, because the user is writing it in
// Drawbridge at this moment. It expires after one minute.
func (s *Supervisor) ExpectCommand(c *config.Server) { s.suppressNotice(exactCommand(c)) }

func exactCommand(c *config.Server) string { return c.ID + "\x00" + commandKey(c) }

func (s *Supervisor) suppressNotice(key string) {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	if s.notices.suppressedUntil == nil {
		s.notices.suppressedUntil = map[string]time.Time{}
	}
	maps.DeleteFunc(s.notices.suppressedUntil, func(_ string, until time.Time) bool { return time.Now().After(until) })
	s.notices.suppressedUntil[key] = time.Now().Add(noticeSuppression)
}

// addCommandNotice publishes a notice that c has a new command, whether it runs now, starts later
// or is disabled. was is the command that it ran before, or "" if unknown, and changed what is new about
// it, as commandChange returns it.
func (s *Supervisor) addCommandNotice(c *config.Server, was, changed string) {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	expected := false
	for _, key := range []string{c.ID, exactCommand(c)} {
		expected = expected || time.Now().Before(s.notices.suppressedUntil[key])
		delete(s.notices.suppressedUntil, key)
	}
	if expected || s.o.Confirmed != nil && s.o.Confirmed(c) {
		return
	}
	if i := slices.IndexFunc(s.notices.list, func(o commandNotice) bool { return o.Subject == core.UnapprovedCommandSubject+c.ID }); i >= 0 {
		if was = s.notices.list[i].before; was == commandText(c) {
			return // the change is undone
		}
	}
	label := c.Label
	if label == "" {
		label = c.ID
	}
	n := commandNotice{core.Notice{Subject: core.UnapprovedCommandSubject + c.ID, Message: fmt.Sprintf("Server %q has a new command: %s", label, commandText(c))}, commandText(c), was}
	switch {
	case was != "" && was != commandText(c):
		n.Message += " (before: " + was + ")"
	case changed != "":
		n.Message += " (" + changed + ")"
	}
	s.notices.list = append(slices.DeleteFunc(s.notices.list, func(o commandNotice) bool { return o.Subject == n.Subject }), n)
	s.o.Bus.Publish(core.NoticeEvent, n.Notice)
}

// dropStaleNotices removes the notices of servers that are no longer configured, or whose command is
// not the one of the notice, for example because the change was undone.
func (s *Supervisor) dropStaleNotices(cfg *config.Config) {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	s.notices.list = slices.DeleteFunc(s.notices.list, func(n commandNotice) bool {
		if c, there := cfg.Server(n.Subject[len(core.UnapprovedCommandSubject):]); there && commandText(&c) == n.command {
			return false
		}
		s.o.Bus.Publish(core.NoticeEvent, core.Notice{Subject: n.Subject})
		return true
	})
}
