package loopback

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Runtime is the content of DATA/runtime.json, by which other processes find the daemon. The file
// exists once the daemon answers, and is removed on a clean shutdown.
type Runtime struct {
	PID       int       `json:"pid"`
	URL       string    `json:"url"` // http:// and the address that the daemon listens on, without a trailing slash
	Version   string    `json:"version"`
	StartedAt time.Time `json:"startedAt"`
	Config    string    `json:"config,omitempty"` // absolute path of the configuration file that edits are written to
}

func runtimeFile(dataDir string) string { return filepath.Join(dataDir, "runtime.json") }

// WriteRuntime replaces runtime.json atomically, without fsync: after a power failure no daemon
// is running, and the file of a dead daemon is ignored.
func WriteRuntime(dataDir string, rt Runtime) error {
	data, err := json.Marshal(rt)
	if err == nil {
		err = osutil.WriteFileWithoutSync(runtimeFile(dataDir), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot write runtime file: %w", err)
	}
	return nil
}

// ReadRuntime returns what the last daemon wrote. The daemon may have exited since; see
// FindDaemon.
func ReadRuntime(dataDir string) (Runtime, error) {
	var rt Runtime
	data, err := osutil.ReadFile(runtimeFile(dataDir))
	if err == nil {
		err = json.Unmarshal(data, &rt)
	}
	if err != nil {
		return Runtime{}, fmt.Errorf("cannot read runtime file: %w", err)
	}
	return rt, nil
}

// RemoveRuntime removes runtime.json. A missing file is not an error.
func RemoveRuntime(dataDir string) error {
	if err := os.Remove(runtimeFile(dataDir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove runtime file: %w", err)
	}
	return nil
}

// FindDaemon returns the Runtime of the daemon that is running in dataDir. ok is false if there
// is none or it does not answer yet.
func FindDaemon(dataDir string) (rt Runtime, ok bool, err error) {
	held, err := IsDaemonRunning(dataDir)
	if err != nil || !held {
		return Runtime{}, false, err
	}
	rt, err = ReadRuntime(dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return Runtime{}, false, nil
	}
	return rt, err == nil, err
}

// StartingDaemon describes a daemon that holds dataDir and does not answer yet, because it starts
// or stops, for the user. It returns "" if there is none.
func StartingDaemon(dataDir string) string {
	if held, err := IsDaemonRunning(dataDir); err != nil || !held {
		return ""
	}
	return "Drawbridge is starting or stopping"
}

// watchedFile is a small private file that is read again when it has changed on disk. The owner's
// lock guards it.
type watchedFile struct {
	path     string
	lastInfo fs.FileInfo // at the last read; nil if the file did not exist
	wasRead  bool
}

// readIfChanged returns the content and true if the file has changed since the last call, which is
// also the case for a file that was removed; its data is nil.
func (w *watchedFile) readIfChanged() (data []byte, ok bool, err error) {
	info, err := os.Stat(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		first := !w.wasRead || w.lastInfo != nil
		w.lastInfo, w.wasRead = nil, true
		return nil, first, nil
	}
	if err != nil {
		return nil, false, err
	}
	if w.lastInfo != nil && os.SameFile(w.lastInfo, info) && w.lastInfo.Size() == info.Size() && w.lastInfo.ModTime().Equal(info.ModTime()) {
		return nil, false, nil
	}
	if isAccessibleToOthers(info) {
		if err := os.Chmod(w.path, 0o600); err != nil {
			return nil, false, fmt.Errorf("cannot restrict the permissions of %s: %w", w.path, err)
		}
	}
	data, err = osutil.ReadFile(w.path)
	if err != nil {
		return nil, false, err
	}
	w.lastInfo, w.wasRead = info, true
	return data, true, nil
}
