package loopback

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/atomicfile"
)

// HeldError says that another daemon uses the data folder.
type HeldError struct {
	Dir     string
	Runtime Runtime // of that daemon; its zero value when it does not answer yet
}

func (e *HeldError) Error() string {
	if e.Runtime.URL == "" {
		return fmt.Sprintf("data folder %q is in use by another Drawbridge", e.Dir)
	}
	return fmt.Sprintf("data folder %q is in use by the Drawbridge at %s", e.Dir, e.Runtime.URL)
}

// DirLock is the proof that this process is the only daemon of a data folder. The
// system frees it when the process ends, however that happens.
type DirLock struct{ file *os.File }

// Lock makes this process the daemon of dataDir, which is made when it is not there.
// The error is a *HeldError when there is one already.
func Lock(dataDir string) (*DirLock, error) {
	f, err := openLock(dataDir)
	if err != nil {
		return nil, err
	}
	// Held takes the lock for a moment, so one refusal is no proof.
	ok, err := lockWithin(f, 300*time.Millisecond)
	if ok {
		return &DirLock{f}, nil
	}
	_ = f.Close()
	if err != nil {
		return nil, fmt.Errorf("cannot lock data folder: %w", err)
	}
	rt, _ := ReadRuntime(dataDir)
	return nil, &HeldError{Dir: dataDir, Runtime: rt}
}

func openLock(dataDir string) (*os.File, error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make data folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dataDir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock data folder: %w", err)
	}
	return f, nil
}

// Close frees the lock. The file stays: removing it would let two daemons hold two
// different files of the same name.
func (l *DirLock) Close() error { return l.file.Close() }

// Held reports whether a daemon of dataDir lives.
func Held(dataDir string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(dataDir, "lock"), os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot look at the lock of the data folder: %w", err)
	}
	defer func() { _ = f.Close() }()
	free, err := tryLock(f)
	return !free, err
}

// Runtime is DATA/runtime.json: how other processes find the daemon. It is there
// once the daemon answers, and gone after it ended well.
type Runtime struct {
	PID       int       `json:"pid"`
	URL       string    `json:"url"` // http://127.0.0.1:PORT, without a slash at the end
	Version   string    `json:"version"`
	StartedAt time.Time `json:"startedAt"`
	Config    string    `json:"config,omitempty"` // the configuration file that edits go to, absolute
}

func runtimeFile(dataDir string) string { return filepath.Join(dataDir, "runtime.json") }

// WriteRuntime replaces runtime.json in one step. It does not wait for the disk: no daemon
// outlives the power, and the file of one that is dead is not believed.
func WriteRuntime(dataDir string, rt Runtime) error {
	data, err := json.Marshal(rt)
	if err == nil {
		err = atomicfile.WriteFleeting(runtimeFile(dataDir), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot write runtime file: %w", err)
	}
	return nil
}

// ReadRuntime returns what the last daemon wrote. It says nothing about whether that
// daemon lives; FindDaemon does.
func ReadRuntime(dataDir string) (Runtime, error) {
	var rt Runtime
	data, err := os.ReadFile(runtimeFile(dataDir))
	if err == nil {
		err = json.Unmarshal(data, &rt)
	}
	if err != nil {
		return Runtime{}, fmt.Errorf("cannot read runtime file: %w", err)
	}
	return rt, nil
}

// RemoveRuntime removes runtime.json. That it is not there is no error.
func RemoveRuntime(dataDir string) error {
	if err := os.Remove(runtimeFile(dataDir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove runtime file: %w", err)
	}
	return nil
}

// FindDaemon returns the runtime of the daemon that lives in dataDir. ok is false
// when none does, or when it does not answer yet.
func FindDaemon(dataDir string) (rt Runtime, ok bool, err error) {
	held, err := Held(dataDir)
	if err != nil || !held {
		return Runtime{}, false, err
	}
	rt, err = ReadRuntime(dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return Runtime{}, false, nil
	}
	return rt, err == nil, err
}
