//go:build unix

package clientconf

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestWriteWaitsForClientLock(t *testing.T) {
	c, home := newConnector(t)
	path := filepath.Join(home, ".copilot", "mcp-config.json")
	write(t, path, "{}\n")
	p, err := c.Plan(Choice{Client: "copilot-cli"})
	must(t, err)
	unlock, err := lockFile(context.Background(), filepath.Join(home, ".copilot", ".mcp-writer.lock"))
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	if err := c.Apply(ctx, p); core.CodeOf(err) != core.CodeConflict || content(t, path) != "{}\n" {
		t.Fatalf("written while the client writes: %v", err)
	}
	unlock()
	connect(t, c, "copilot-cli")
	if how := undo(t, c, "copilot-cli"); how != Restored || content(t, path) != "{}\n" {
		t.Fatalf("%s: %s", how, content(t, path))
	}
}
