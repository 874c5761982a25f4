package clientconf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// Process is one process of the current user.
type Process struct {
	PID, Parent int
	Args        []string
	Bytes       int64 // resident memory
}

// RunningServer is one running MCP server that a client started itself.
type RunningServer struct {
	Client string `json:"client"` // the client whose configuration has it; "" if the server was recognized only by its name
	Name   string `json:"name"`
	PID    int    `json:"pid"`
	Bytes  int64  `json:"bytes"` // resident memory of its process tree
	Copy   bool   `json:"copy"`  // an identical one was counted before
}

// Savings reports the MCP servers that clients start themselves, and the memory that sharing
// them would save.
type Savings struct {
	Configured int             `json:"configured"` // servers in client files
	Clients    int             `json:"clients"`    // clients that have any
	Running    []RunningServer `json:"running"`
	Copies     int             `json:"copies"`
	Bytes      int64           `json:"bytes"`     // memory of all running servers
	CopyBytes  int64           `json:"copyBytes"` // memory of the copies
	// Before is the measurement from before the first client was connected; nil until then.
	Before *SavingsBaseline `json:"before,omitempty"`
}

// SavingsBaseline is one measurement of Savings.
type SavingsBaseline struct {
	At         time.Time `json:"at"`
	Configured int       `json:"configured"`
	Clients    int       `json:"clients"`
	Running    int       `json:"running"`
	Copies     int       `json:"copies"`
	Bytes      int64     `json:"bytes"`
	CopyBytes  int64     `json:"copyBytes"`
}

func (c *Connector) baselinePath() string { return filepath.Join(c.dir, "before", "savings") }

// SaveSavingsBaseline stores the current Savings as the baseline for comparison, unless there already
// is one. Call it before the first client is connected.
func (c *Connector) SaveSavingsBaseline(self int) error {
	if exists(c.baselinePath()) {
		return nil
	}
	s := c.Savings(self)
	b, err := json.Marshal(SavingsBaseline{c.now().UTC(), s.Configured, s.Clients, len(s.Running), s.Copies, s.Bytes, s.CopyBytes})
	if err != nil {
		return err
	}
	return atomicfile.Write(c.baselinePath(), append(b, '\n'), 0o600)
}

// Savings inspects the client files and the current user's processes. Descendants of process
// self, the daemon, are Drawbridge's own servers and are not counted.
func (c *Connector) Savings(self int) Savings {
	var found Savings
	var known []ImportedServer
	for _, client := range Known() {
		p, err := c.openPlan(Choice{Client: client.ID})
		if err != nil {
			continue
		}
		servers, _ := c.readServers(p)
		servers = slices.DeleteFunc(servers, func(i ImportedServer) bool { return i.SkipReason != "" })
		if len(servers) > 0 {
			found.Clients++
			found.Configured += len(servers)
			known = append(known, servers...)
		}
	}
	found.Running = []RunningServer{}
	found.countServers(processes(), known, self)
	if b, err := os.ReadFile(c.baselinePath()); err == nil {
		var before SavingsBaseline
		if json.Unmarshal(b, &before) == nil {
			found.Before = &before
		}
	}
	return found
}

var serverPattern = lazyregexp.New(`(?i)(@modelcontextprotocol/server-|(^|[/@_.-])mcp[-_](server|remote|proxy)|mcp[-_]server|[-_]mcp(@|$|\.[cm]?js$))`)

// countServers finds the servers among the processes. The topmost matching process of each tree
// counts as one server, with the memory of the whole tree.
func (s *Savings) countServers(all []Process, known []ImportedServer, self int) {
	byPID := map[int]Process{}
	children := map[int][]int{}
	for _, p := range all {
		byPID[p.PID] = p
		children[p.Parent] = append(children[p.Parent], p.PID)
	}
	var tree func(pid, depth int) int64
	tree = func(pid, depth int) int64 {
		sum := byPID[pid].Bytes
		for _, child := range children[pid] {
			if depth < 64 {
				sum += tree(child, depth+1)
			}
		}
		return sum
	}
	match := map[int]RunningServer{}
	for _, p := range all {
		if m, ok := matchServer(p, known); ok {
			match[p.PID] = m
		}
	}
	seen := map[string]int{}
	for _, p := range all {
		m, ok := match[p.PID]
		for up, n := byPID[p.PID], 0; ok && up.PID != 0 && n < 64; up, n = byPID[up.Parent], n+1 {
			if _, above := match[up.Parent]; above || up.PID == self || up.Parent == self && self != 0 {
				ok = false
			}
		}
		if !ok {
			continue
		}
		m.PID, m.Bytes = p.PID, tree(p.PID, 0)
		kind := strings.Join(normalizeCommand(p.Args), " ")
		if seen[kind]++; seen[kind] > 1 {
			m.Copy = true
			s.Copies++
			s.CopyBytes += m.Bytes
		}
		s.Bytes += m.Bytes
		s.Running = append(s.Running, m)
	}
}

// matchServer returns the configured server that a process runs, or the name of a process that
// looks like an MCP server.
func matchServer(p Process, known []ImportedServer) (RunningServer, bool) {
	if len(p.Args) > 1 && programName(p.Args[0]) == "drawbridge" {
		return RunningServer{}, false
	}
	words := normalizeCommand(p.Args)
	for _, i := range known {
		m, err := decodeObject(i.literal)
		if err != nil || m["command"] == nil {
			continue
		}
		want := normalizeCommand(append([]string{m["command"].(string)}, stringList(m["args"])...))
		if len(want) > 0 && len(words) >= len(want) && slices.Equal(words[len(words)-len(want):], want) {
			return RunningServer{Client: i.Client, Name: i.Name}, true
		}
	}
	for _, w := range p.Args[:min(len(p.Args), 4)] {
		if serverPattern().MatchString(w) && !strings.Contains(w, " ") {
			return RunningServer{Name: programName(w)}, true
		}
	}
	return RunningServer{}, false
}

// normalizeCommand returns a command line without the parts that differ between two starts of the same
// server: the interpreter, the directory of the program, and options of the launcher.
func normalizeCommand(args []string) (words []string) {
	for i, a := range args {
		name := filepath.Base(a)
		switch {
		case len(words) == 0 && slices.Contains([]string{"node", "npx", "npm", "exec", "sh", "bash", "uv", "uvx", "tool", "run", "python", "python3", "env", "-y", "--yes", "-q", "-c", "--"}, name):
		case i < 3 && strings.ContainsAny(a, `/\`) && len(words) == 0:
			words = append(words, name)
		default:
			words = append(words, a)
		}
	}
	return words
}

// isRunning reports whether one of the client's programs is running.
func (c *Connector) isRunning(client Client) bool {
	names := append([]string{}, client.Binaries...)
	if client.ID == "claude-desktop" {
		names = append(names, "claude-desktop", "Claude", "claude.exe")
	}
	for _, p := range processes() {
		if name := filepath.Base(p.Args[0]); slices.Contains(names, name) {
			return true
		}
		if client.ID == "claude-desktop" && slices.ContainsFunc(p.Args[:min(2, len(p.Args))], func(a string) bool { return strings.Contains(a, "claude-desktop/") }) {
			return true
		}
	}
	return false
}
