package dockerexec

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/moby/client"
)

// entry is a running exec, in a file of its own.
type entry struct {
	Engine
	Container string `json:"container"` // "" is the one that carries Mark as a label: it is ours
	User      string `json:"user"`
	Mark      string `json:"mark"`
	Exec      string `json:"exec,omitempty"` // its id, where no shell can find it by Mark
}

func entryPath(ledger, mark string) string { return filepath.Join(ledger, mark+".json") }

// enlist writes the exec down. A ledger that cannot be written costs the sweep
// after a crash, nothing else.
func (e *Exec) enlist() {
	one := entry{Engine: e.at, Container: e.container, User: e.spec.User, Mark: e.mark}
	if !e.shell {
		one.Exec = e.id
	}
	_ = enlist(e.spec.Ledger, one)
}

// enlist writes an entry down; without a ledger it does nothing.
func enlist(ledger string, one entry) error {
	if ledger == "" {
		return nil
	}
	text, err := json.Marshal(one)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(ledger, 0o700); err != nil {
		return err
	}
	return os.WriteFile(entryPath(ledger, one.Mark), text, 0o600)
}

func (e *Exec) delist() { delist(e.spec.Ledger, e.mark) }

func delist(ledger, mark string) {
	if ledger != "" {
		_ = os.Remove(entryPath(ledger, mark))
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
	if one.Context != "" {
		one.Host = "" // the context knows the certificates as well
	}
	cli, at, err := connect(one.Engine)
	if err != nil {
		return 0, err
	}
	defer cli.Close()
	if one.Container == "" {
		return removeMarked(ctx, cli, at, one.Mark)
	}
	if one.Exec != "" {
		now, err := cli.ExecInspect(ctx, one.Exec, client.ExecInspectOptions{})
		if err == nil && now.Running && signalFromHost(now.PID, one.Container, "KILL") {
			ended = 1
		}
		return ended, explain(at, one.Container, err)
	}
	for range 20 { // until a look finds nothing more
		n, err := signalInside(ctx, cli, one.Container, one.User, "KILL", 0, one.Mark)
		if err != nil {
			return ended, explain(at, one.Container, err)
		}
		if n == 0 {
			return ended, nil
		}
		ended = max(ended, n)
	}
	return ended, nil
}
