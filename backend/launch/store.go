package launch

import (
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// maxLearned is the number of starts that are remembered of one server, whose instances may start in
// different folders.
const maxLearned = 4

// format is the version of what is saved. What has another version is forgotten: a change of what counts
// as code must not look like a replaced package.
const format = 1

// saved is the file of a memory.
type saved struct {
	Format  int                   `json:"format"`
	Servers map[string]remembered `json:"servers"`
}

// remembered is what is known about one server.
type remembered struct {
	Learned []*learned   `json:"learned"`       // newest first
	Off     *switchedOff `json:"off,omitempty"` // nil if it may be started directly
}

// switchedOff says why a server is started by npx: its direct start failed.
type switchedOff struct {
	Key     string    `json:"key"`
	Version string    `json:"version"`
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
}

// memory keeps what is known about all servers in one file. Its methods are safe for concurrent use.
type memory struct {
	path string
	log  *slog.Logger

	mu      sync.Mutex // guards the rest, and the file
	servers map[string]remembered
}

func openMemory(path string, log *slog.Logger) *memory {
	m := &memory{path: path, log: log, servers: map[string]remembered{}}
	var was saved
	text, err := osutil.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &was)
	}
	if err != nil && !os.IsNotExist(err) { // the servers are started by npx again
		log.Warn("Cannot read how servers were started", "error", err)
	}
	if err == nil && was.Format == format && was.Servers != nil {
		m.servers = was.Servers
	}
	return m
}

// of returns what is known about a server. It must not be modified.
func (m *memory) of(server string) remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.servers[server]
}

// change replaces what is known about a server.
func (m *memory) change(server string, f func(remembered) remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.servers[server] = f(m.servers[server])
	m.save()
}

// started remembers how long the first direct start of a server took.
func (m *memory) started(server string, took time.Duration) {
	if known := m.of(server).Learned; len(known) > 0 && known[0].DirectStart == 0 {
		m.change(server, func(r remembered) remembered {
			if len(r.Learned) > 0 {
				first := *r.Learned[0]
				first.DirectStart = took
				r = r.with(&first)
			}
			return r
		})
	}
}

// retain forgets all servers but those for which keep returns true.
func (m *memory) retain(keep func(server string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gone := false
	for server := range m.servers {
		if !keep(server) {
			delete(m.servers, server)
			gone = true
		}
	}
	if gone {
		m.save()
	}
}

// save writes the file. The caller holds mu.
func (m *memory) save() {
	text, err := json.Marshal(saved{format, m.servers})
	if err == nil {
		err = osutil.WriteFile(m.path, text, 0o600)
	}
	if err != nil {
		m.log.Warn("Cannot save how servers were started", "error", err)
	}
}

// with returns r with l in place of what was learned from the same start.
func (r remembered) with(l *learned) remembered {
	others := slices.DeleteFunc(slices.Clone(r.Learned), func(o *learned) bool { return o.Key == l.Key })
	r.Learned = slices.Insert(others, 0, l)
	r.Learned = r.Learned[:min(len(r.Learned), maxLearned)]
	return r
}
