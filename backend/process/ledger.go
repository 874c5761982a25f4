package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// cgroupPrefix begins the name of the control group of a run: drawbridge-INSTANCE-RUN.
const cgroupPrefix = "drawbridge-"

// ledger is the file of running processes that the start after a crash reads. It is replaced
// atomically, by rename, whenever a process starts or ends.
type ledger struct {
	path string

	mu      sync.Mutex
	entries []ledgerEntry
}

// ledgerEntry is a direct child. PID and Start together identify a process until the next reboot.
type ledgerEntry struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // opaque, in a platform-specific unit
	Name  string `json:"name"`
	Mark  string `json:"mark"`
	Group string `json:"group,omitempty"` // its control group
}

type ledgerFile struct {
	Boot      string        `json:"boot"`
	Processes []ledgerEntry `json:"processes"`
}

func (l *ledger) add(e ledgerEntry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	return l.write()
}

func (l *ledger) remove(pid int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = slices.DeleteFunc(l.entries, func(e ledgerEntry) bool { return e.PID == pid })
	return l.write()
}

func (l *ledger) write() error {
	text, err := json.Marshal(ledgerFile{Boot: bootID(), Processes: l.entries})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	temp := l.path + ".new"
	if err := os.WriteFile(temp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, l.path)
}

// readEarlier returns the entries of an earlier run, or nothing if the machine has been rebooted
// since.
func (l *ledger) readEarlier() ([]ledgerEntry, error) {
	text, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var file ledgerFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("cannot read process ledger %s: %w", l.path, err)
	}
	if file.Boot != bootID() {
		return nil, nil
	}
	return file.Processes, nil
}
