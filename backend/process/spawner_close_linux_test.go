package process

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCloseKillsForkingProcesses checks that Close kills processes that a process list may miss.
// It is not parallel, because processes that fork this fast would slow other tests down.
func TestCloseKillsForkingProcesses(t *testing.T) {
	dir := t.TempDir()
	script, births := filepath.Join(dir, "reborn.sh"), filepath.Join(dir, "births")
	require.NoError(t, os.WriteFile(script, []byte("trap '' TERM\n"+whileTestRuns()+"echo >>\"$2\"\nsetsid sh \"$1\" \"$1\" \"$2\" &\n"), 0o600))
	s := NewSpawner(Options{})
	_, err := s.Start(Spec{Name: "reborn", Path: "/bin/sh", Args: []string{"-c", `sh "$1" "$1" "$2"; exec sleep 600`, "sh", script, births}, Env: os.Environ()})
	require.NoError(t, err)
	born := func() int64 {
		info, err := os.Stat(births)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	eventually.True(t, "something is reborn", func() bool { return born() > 20 })
	assert.NoError(t, s.Close(t.Context()))
	end := born()
	for range 10 { // each takes as long as several generations of the process
		listDescendants()
	}
	n := born()
	require.Truef(t, n <= end, "%d were born after the end", n-end)
}
