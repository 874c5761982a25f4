package metrics

import (
	"sync"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Limits of the tools that have their own label value. Tools beyond the limits share the label
// value otherTools of their server.
const (
	maxTools         = 256
	maxToolsOfServer = 64
	maxToolName      = 128 // bytes
	otherTools       = "other"
)

// toolLabels is the set of tools that have their own label value.
type toolLabels struct {
	mu       sync.Mutex // guards the fields below
	byServer map[string]map[string]bool
	count    int
}

// label returns the label value for the tool that c called. Only a tool that returned a result
// gets its own label value, because clients can call names that do not exist.
func (l *toolLabels) label(c *core.Call) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	tools := l.byServer[c.Server]
	if tools[c.Name] {
		return c.Name
	}
	if !hasAnswered(c) || l.count >= maxTools || len(tools) >= maxToolsOfServer || len(c.Name) > maxToolName || !utf8.ValidString(c.Name) {
		return otherTools
	}
	if tools == nil {
		if l.byServer == nil {
			l.byServer = make(map[string]map[string]bool)
		}
		tools = make(map[string]bool)
		l.byServer[c.Server] = tools
	}
	tools[c.Name] = true
	l.count++
	return c.Name
}

// forget removes the label values of a server's tools.
func (l *toolLabels) forget(server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count -= len(l.byServer[server])
	delete(l.byServer, server)
}
