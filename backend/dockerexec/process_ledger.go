package dockerexec

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/moby/moby/client"
)

// entry is the record of a running exec or container, stored in its own file.
type entry struct {
	Engine
	Container string `json:"container"` // "" means the container with Mark as a label, which we created
	User      string `json:"user"`
	Mark      string `json:"mark"`
	Exec      string `json:"exec,omitempty"` // exec id, if the image has no shell that could find the process by Mark
}

func entryPath(ledger, mark string) string { return filepath.Join(ledger, mark+".json") }

// addToLedger writes the record of the exec. An error is ignored, because it affects only the
// cleanup after a crash.
func (e *Exec) addToLedger() {
	item := entry{Engine: e.engine, Container: e.container, User: e.spec.User, Mark: e.mark}
	if !e.shell {
		item.Exec = e.id
	}
	_ = writeEntry(e.spec.Ledger, item)
}

func writeEntry(ledger string, item entry) error {
	if ledger == "" {
		return nil
	}
	text, err := json.Marshal(item)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(ledger, 0o700); err != nil {
		return err
	}
	return os.WriteFile(entryPath(ledger, item.Mark), text, 0o600)
}

func (e *Exec) removeFromLedger() { removeEntry(e.spec.Ledger, e.mark) }

func removeEntry(ledger, mark string) {
	if ledger != "" {
		_ = os.Remove(entryPath(ledger, mark))
	}
}

// maxParallelCleanups is the number of containers that EndOrphans cleans up in parallel.
const maxParallelCleanups = 6

// EndOrphans ends the processes that a killed daemon left running in containers, according to the
// ledger folder, removes the containers of its docker run commands, and returns the number of
// both. A record is removed when its container has been cleaned up or does not exist; it remains
// while the Engine does not answer.
func EndOrphans(ctx context.Context, ledger string) (ended int, err error) {
	files, err := os.ReadDir(ledger)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var (
		mu      sync.Mutex // guards ended and errs
		errs    []error
		running sync.WaitGroup
		slots   = make(chan struct{}, maxParallelCleanups)
	)
	each := func(sweep func() (int, error)) {
		slots <- struct{}{}
		running.Go(func() {
			n, err := sweep()
			<-slots
			mu.Lock()
			defer mu.Unlock()
			ended += n
			errs = append(errs, err)
		})
	}
	for _, file := range files {
		if path := filepath.Join(ledger, file.Name()); strings.HasSuffix(path, runSuffix) {
			each(func() (int, error) { return removeOrphanedRun(ctx, ledger, path) })
		}
	}
	for _, g := range groupEntries(ledger, files) {
		each(func() (int, error) { return g.cleanUp(ctx) })
	}
	running.Wait()
	return ended, errors.Join(errs...)
}

// entryGroup is a set of entries that one command in a container can end.
type entryGroup struct {
	entry          // the first entry
	marks []string // of all entries
	paths []string
}

// groupEntries reads the entries of a ledger. It removes an incomplete file, because nothing can be
// found with it.
func groupEntries(ledger string, files []os.DirEntry) map[string]*entryGroup {
	all := map[string]*entryGroup{}
	for _, file := range files {
		path := filepath.Join(ledger, file.Name())
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasSuffix(path, ".json") {
			continue
		}
		var item entry
		if json.Unmarshal(text, &item) != nil || item.Mark == "" {
			_ = os.Remove(path)
			continue
		}
		key := strings.Join([]string{item.Host, item.Context, item.Container, item.User, item.Exec}, "\x00")
		if item.Container == "" {
			key += item.Mark
		}
		if all[key] == nil {
			all[key] = &entryGroup{entry: item}
		}
		all[key].marks = append(all[key].marks, item.Mark)
		all[key].paths = append(all[key].paths, path)
	}
	return all
}

func (g *entryGroup) cleanUp(ctx context.Context) (ended int, err error) {
	ended, err = g.endProcesses(ctx)
	if err != nil && !errors.Is(err, ErrNoContainer) && !errors.Is(err, ErrNotRunning) {
		return ended, err
	}
	err = nil
	for _, path := range g.paths {
		if rm := os.Remove(path); !errors.Is(rm, os.ErrNotExist) {
			err = errors.Join(err, rm)
		}
	}
	return ended, err
}

func (g *entryGroup) endProcesses(ctx context.Context) (ended int, err error) {
	engine := g.Engine
	if engine.Context != "" {
		engine.Host = "" // the context includes the certificates
	}
	cli, at, err := newClient(engine)
	if err != nil {
		return 0, err
	}
	defer cli.Close()
	switch {
	case g.Container == "":
		return removeMarked(ctx, cli, at, g.Mark)
	case g.Exec != "":
		now, err := cli.ExecInspect(ctx, g.Exec, client.ExecInspectOptions{})
		if err == nil && now.Running && signalFromHost(now.PID, g.Container, "KILL") {
			ended = 1
		}
		return ended, translateError(at, g.Container, err)
	}
	for range 20 { // until no more processes are found
		n, err := signalInside(ctx, cli, g.Container, g.User, "KILL", 0, g.marks...)
		if err != nil {
			return ended, translateError(at, g.Container, err)
		}
		if n <= 0 {
			return ended, nil
		}
		ended = max(ended, n)
	}
	return ended, nil
}
