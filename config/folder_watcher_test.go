package config

import (
	"errors"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fsnotify waits for its reader when it has an error, or more events than it keeps.
func TestFolderWatcherNeverKeepsFsnotifyWaiting(t *testing.T) {
	t.Parallel()
	w, err := NewFolderWatcher()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, w.Add(dir))
	select {
	case w.watcher.Errors <- errors.New("a watched folder was removed"):
	case <-time.After(10 * time.Second):
		t.Fatal("an error waits until somebody asks for changes")
	}
	require.NoError(t, w.Add(t.TempDir()))
	name := <-w.Changed
	assert.Empty(t, name)
	last := filepath.Join(dir, "last")
	for i := range maxQueuedNames { // two events each
		writeConfig(t, filepath.Join(dir, strconv.Itoa(i)), one)
	}
	writeConfig(t, last, one)
	for name, lost := "", false; name != last || !lost; {
		select {
		case name = <-w.Changed:
			lost = lost || name == ""
		case <-time.After(10 * time.Second):
			t.Fatalf("the last name is %s; lost: %v", name, lost)
		}
	}
	require.NoError(t, w.Remove(dir))
	w.Close()
}
