package dockerexec

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// entry is a running exec, in a file of its own.
type entry struct {
	Host      string `json:"host"`
	Container string `json:"container"`
	User      string `json:"user"`
	Mark      string `json:"mark"`
}

func (e *Exec) entryPath() string { return filepath.Join(e.spec.Ledger, e.mark+".json") }

// enlist writes the exec down. A ledger that cannot be written costs the sweep
// after a crash, nothing else.
func (e *Exec) enlist() {
	if e.spec.Ledger == "" || !e.shell {
		return
	}
	text, err := json.Marshal(entry{Host: e.host, Container: e.container, User: e.spec.User, Mark: e.mark})
	if err != nil {
		return
	}
	if os.MkdirAll(e.spec.Ledger, 0o700) == nil {
		_ = os.WriteFile(e.entryPath(), text, 0o600)
	}
}

func (e *Exec) delist() {
	if e.spec.Ledger != "" {
		_ = os.Remove(e.entryPath())
	}
}

// Sweep ends what a killed daemon left running in containers, by its ledger
// folder, removes the containers of its `docker run` commands, and returns how many
// processes and containers there were. An entry goes away once its container was
// asked or is gone; while the Engine does not answer it stays.
func Sweep(ctx context.Context, ledger string) (ended int, err error) {
	files, err := os.ReadDir(ledger)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, file := range files {
		path := filepath.Join(ledger, file.Name())
		if strings.HasSuffix(path, runSuffix) {
			n, err := sweepRun(ctx, ledger, path)
			ended += n
			errs = append(errs, err)
			continue
		}
		if !strings.HasSuffix(path, ".json") {
			continue
		}
		n, err := sweepOne(ctx, path)
		ended += n
		switch {
		case err == nil, errors.Is(err, ErrNoContainer), errors.Is(err, ErrNotRunning):
			if err = os.Remove(path); errors.Is(err, os.ErrNotExist) {
				err = nil
			}
		}
		errs = append(errs, err)
	}
	return ended, errors.Join(errs...)
}

func sweepOne(ctx context.Context, path string) (ended int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var one entry
	if json.Unmarshal(text, &one) != nil || one.Mark == "" {
		return 0, nil // torn by the crash: nothing to find it by
	}
	cli, host, err := connect(one.Host)
	if err != nil {
		return 0, err
	}
	defer cli.Close()
	for range 20 { // until a look finds nothing more
		n, err := signalInside(ctx, cli, one.Container, one.User, "KILL", 0, one.Mark)
		if err != nil {
			return ended, explain(host, one.Container, err)
		}
		if n == 0 {
			return ended, nil
		}
		ended = max(ended, n)
	}
	return ended, nil
}
