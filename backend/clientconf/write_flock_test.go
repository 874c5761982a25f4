//go:build unix

package clientconf

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/require"
)

func TestWriteWaitsForClientLock(t *testing.T) {
	c, home := newConnector(t)
	path := filepath.Join(home, ".copilot", "mcp-config.json")
	write(t, path, "{}\n")
	p, err := c.Plan(Choice{Client: "copilot-cli"})
	require.NoError(t, err)
	unlock, err := lockFile(context.Background(), filepath.Join(home, ".copilot", ".mcp-writer.lock"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	err = c.Apply(ctx, p)
	require.Truef(t, core.CodeOf(err) == core.CodeConflict && content(t, path) == "{}\n", "written while the client writes: %v", err)
	unlock()
	connect(t, c, "copilot-cli")
	if how := undo(t, c, "copilot-cli"); how != Restored || content(t, path) != "{}\n" {
		t.Fatalf("%s: %s", how, content(t, path))
	}
}
