package config

import (
	"errors"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
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
	other := t.TempDir()
	require.NoError(t, w.Add(other))
	assert.Empty(t, <-w.Changed)
	for i := range maxQueuedNames + 1 + cap(w.watcher.Events) { // while nobody takes them
		w.watcher.Events <- fsnotify.Event{Name: strconv.Itoa(i)}
	}
	next := func(want string) {
		for name := "?"; name != want; {
			select {
			case name = <-w.Changed:
			case <-time.After(10 * time.Second):
				t.Fatalf("%q is not reported", want)
			}
		}
	}
	next("") // some are not known
	require.NoError(t, w.Remove(other))
	last := filepath.Join(dir, "last")
	writeConfig(t, last, one)
	next(last)
	w.Close()
}
