package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startFollowing starts to follow a file that has already been read. The channel receives the
// time when a change is seen.
func startFollowing(t *testing.T, debounce time.Duration) (file string, seen <-chan time.Time) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "config.jsonc")
	writeConfig(t, file, one)
	r := NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: file}, Debounce: debounce})
	require.NoError(t, r.Load())
	done := make(chan time.Time, 1)
	go func() {
		assert.NoError(t, r.waitForChange(t.Context()))
		done <- time.Now()
	}()
	<-time.After(100 * time.Millisecond) // wait until the directory is watched; otherwise the change is seen immediately
	return file, done
}

// A directory may appear after it was looked up and before its parent is watched.
func TestLaterCreatedFolderIsWatched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := filepath.Join(dir, "conf.d")
	r := NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: filepath.Join(dir, "config.jsonc"), ConfDir: made}})
	added := make(map[string]bool)
	_, folders := watchDirectories(r.watchedPaths, func(folder string) {
		assert.NoError(t, os.MkdirAll(made, 0o700))
		added[folder] = true
	})
	assert.Truef(t, added[made] && folders[made], "watched are %v, of which %v count with everything in them", added, folders)
}

// Programs save in several steps. A change is reported after a quiet period.
func TestFileIsReadAfterDebounce(t *testing.T) {
	t.Parallel()
	const quiet = 400 * time.Millisecond
	for range 10 {
		file, seen := startFollowing(t, quiet)
		writeConfig(t, file, two)
		select {
		case <-seen:
			// This early only if the file changed before it was watched, or the machine was
			// stalled.
			continue
		case <-time.After(quiet / 2):
		}
		last := time.Now()
		writeConfig(t, file, one)
		if at := <-seen; at.Sub(last) >= quiet {
			return
		} // else seen at the start of the second write, or its event came late
	}
	t.Error("ten times a file was read before it had been quiet")
}

// Continuous writes do not prevent the file from being read.
func TestBusyFileIsReadAfterMaximumDelay(t *testing.T) {
	t.Parallel()
	file, seen := startFollowing(t, 200*time.Millisecond)
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-seen:
			return
		case <-deadline:
			t.Fatalf("not read within 20 s and %d writes", i)
		case <-tick.C:
			writeConfig(t, file, []string{two, one}[i%2])
		}
	}
}

// Temporary files next to a file of conf.d are not changes of it; the rename is.
func TestOwnTemporaryFilesAreIgnored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := fsnotify.NewWatcher()
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.Add(dir))
	file := filepath.Join(dir, "team.jsonc")
	require.NoError(t, osutil.WriteFile(file, []byte(one), 0o644))
	marker := filepath.Join(dir, "marker")
	require.NoError(t, os.Mkdir(marker, 0o700))
	names, folders := map[string]bool{}, map[string]bool{dir: true}
	unfinished, changed := 0, 0
	for deadline := time.After(20 * time.Second); ; {
		select {
		case e := <-w.Events:
			switch {
			case e.Name == marker:
				assert.NotEqual(t, 0, unfinished)
				assert.NotEqual(t, 0, changed)
				return
			case isRelevant(e.Name, names, folders):
				if changed++; e.Name != file {
					t.Errorf("%s counts as a change", e)
				}
			default:
				unfinished++
			}
		case <-deadline:
			t.Fatal("the folder is not told of")
		}
	}
}
