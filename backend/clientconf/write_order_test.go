package clientconf

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The record is on disk before the client's file is modified: if the record cannot be
// written, the file is unchanged. Otherwise a kill in between would leave an entry that
// cannot be undone.
func TestRecordIsWrittenBeforeFile(t *testing.T) {
	c, _, path := newClaudeConnector(t)
	p, err := c.Plan(Choice{Client: "claude-code"})
	require.NoError(t, err)
	// A directory takes the path of the record just before it is written.
	c.now = func() time.Time {
		assert.NoError(t, os.MkdirAll(filepath.Join(c.recordPath(p.Key()), "in the way"), 0o700))
		return time.Now()
	}
	require.Error(t, c.Apply(context.Background(), p), "the record could be written")
	assert.Equal(t, claudeFile, content(t, path), "without a record the file became")
}

// A client may start its servers at the moment its file changes, so the daemon knows them by then; if it
// refuses them, nothing has changed.
func TestDaemonKnowsServersBeforeClientsFileIsWritten(t *testing.T) {
	c, home, config := newMover(t)
	path := filepath.Join(home, ".claude.json")
	write(t, path, fiveServers)
	var refusal error
	synced := 0
	c.Sync = func(context.Context, string) error {
		synced++
		assert.Contains(t, content(t, config), `"github"`, "synced before our file was written, or after the client's")
		assert.Equal(t, fiveServers, content(t, path), "synced before our file was written, or after the client's")
		return refusal
	}
	apply := func() error {
		p, err := c.PlanMove(Choice{Client: "claude-code"}, nil, false)
		require.NoError(t, err)
		return c.Apply(t.Context(), p)
	}
	refusal = errors.New("no")
	if err := apply(); !errors.Is(err, refusal) || content(t, path) != fiveServers || exists(config) {
		t.Errorf("refused: %v, %s", err, content(t, path))
	}
	refusal = nil
	if err := apply(); err != nil || synced != 2 || content(t, path) == fiveServers {
		t.Errorf("%v, synced %d times, %s", err, synced, content(t, path))
	}
	_, err := c.PlanImport(Choice{Client: "claude-code"}, nil)
	require.Error(t, err, "imported what was moved")
	c.Sync = func(context.Context, string) error { synced++; return nil }
	if undo(t, c, "claude-code"); synced != 3 {
		t.Errorf("undo: synced %d times", synced)
	}
}
