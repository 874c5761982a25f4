package process

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// MarkVariable is the environment variable of the mark that every process started by a Spawner
// and its descendants carry: INSTANCE/RUN/NUMBER/NAME. INSTANCE identifies the data folder, RUN
// one run of the daemon (it begins with "PID-"), NUMBER one start.
const MarkVariable = "DRAWBRIDGE_SERVER"

// Options configure a Spawner.
type Options struct {
	// Log receives warnings. nil discards them.
	Log *slog.Logger
	// Ledger is the file of running processes, which EndOrphans reads. Two daemons must not share
	// one. "" means no ledger; EndOrphans then does nothing.
	Ledger string
}

// Spawner starts processes and tracks those that run.
//
// All children are forked by one operating system thread that lives as long as the Spawner. The
// parent-death signal is sent when the forking *thread* exits, so a child forked by an ordinary
// goroutine could be killed when the Go runtime ends a thread.
type Spawner struct {
	log      *slog.Logger
	instance string
	run      string
	ledger   *ledger
	forkJobs chan func()
	reaper   *reaper

	mu         sync.Mutex // guards the fields below
	running    map[int]*Process
	number     int
	closed     bool // no process can be started any more
	started    bool // the forking thread and the reaper run
	quit       chan struct{}
	closeQuit  sync.Once // closes quit
	goroutines sync.WaitGroup
}

// NewSpawner returns a Spawner. On Linux it makes this process a child subreaper permanently. What
// this process has inherited is not passed on. It
// starts no thread or goroutine before the first Start.
func NewSpawner(o Options) *Spawner {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Spawner{
		log:      log,
		run:      strconv.Itoa(os.Getpid()) + "-" + rand.Text()[:8],
		forkJobs: make(chan func()),
		running:  make(map[int]*Process),
		quit:     make(chan struct{}),
	}
	if o.Ledger != "" {
		path, err := filepath.Abs(o.Ledger)
		if err != nil {
			path = o.Ledger
		}
		sum := sha256.Sum256([]byte(path))
		s.instance = hex.EncodeToString(sum[:6])
		s.ledger = &ledger{path: path}
	} else {
		s.instance = strings.ToLower(rand.Text()[:12])
	}
	if err := closeInheritedOnExec(); err != nil {
		s.log.Warn("Cannot prevent servers from inheriting file descriptors", "error", err)
	}
	if err := becomeSubreaper(); err != nil {
		s.log.Warn("Cannot adopt processes that detach from their server", "error", err)
	}
	s.reaper = newReaper(s.ownership)
	return s
}

// Start starts a process. The error says what is missing: the executable, its interpreter, the
// permission to run it, or the working directory.
func (s *Spawner) Start(spec Spec) (*Process, error) {
	if spec.Inherit != nil {
		defer spec.Inherit.Close()
	}
	spec = spec.withoutCmdWrapper()
	if err := spec.validate(); err != nil {
		return nil, err
	}
	mark, err := s.prepareStart(spec.Name)
	if err != nil {
		return nil, err
	}
	p := &Process{spec: spec, done: make(chan struct{}), ending: osutil.NewCloser()}
	if p.tree, err = newTree(mark); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", spec.Path, err)
	}

	pipes, err := newPipes()
	if err != nil {
		p.tree.release()
		return nil, fmt.Errorf("cannot start %s: %w", spec.Path, err)
	}
	cmd := &exec.Cmd{
		Path:   spec.Path,
		Args:   append([]string{spec.Path}, spec.Args...),
		Env:    append(withoutVariables(spec.Env, MarkVariable, keepVariable, watchdogVariable), MarkVariable+"="+mark),
		Dir:    spec.Dir,
		Stdin:  pipes.stdin[0],
		Stdout: pipes.stdout[1],
		Stderr: pipes.stderr[1],
	}
	if spec.Inherit != nil {
		cmd.ExtraFiles = []*os.File{spec.Inherit}
	}
	p.tree.prepare(cmd)
	if err := s.fork(p, cmd); err != nil {
		pipes.close()
		p.tree.release()
		return nil, startError(spec, err)
	}
	pipes.closeChildEnds()
	p.stdin, p.stdout = pipes.stdin[1], &childOutput{file: pipes.stdout[0]}
	p.lastAt = time.Now()
	s.addToLedger(p, mark)
	go p.watch(cmd, &childOutput{file: pipes.stderr[0]}, func() { s.removeFromLedger(p) })
	return p, nil
}

// fork starts cmd on the locked thread and adds the child to its tree.
func (s *Spawner) fork(p *Process, cmd *exec.Cmd) error {
	failed := make(chan error, 1)
	job := func() {
		// The reaper must not meet the child before it is known as ours.
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			failed <- errClosed
			return
		}
		if err := p.tree.launch(cmd); err != nil {
			failed <- err
			return
		}
		p.pid = cmd.Process.Pid
		if err := p.tree.adopt(cmd.Process); err != nil {
			_ = cmd.Process.Kill()
			_, _ = cmd.Process.Wait()
			failed <- err
			return
		}
		s.running[p.pid] = p
		failed <- nil
	}
	select {
	case s.forkJobs <- job:
		return <-failed
	case <-s.quit:
		return errClosed
	}
}

var errClosed = errors.New("cannot start process: shutting down")

// prepareStart starts the thread and the reaper if necessary, and returns the mark of a new
// process.
func (s *Spawner) prepareStart(name string) (mark string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", errClosed
	}
	if !s.started {
		s.started = true
		s.goroutines.Go(func() { s.reaper.run(s.quit) })
		if lost, ok := UnderWatchdog(); ok {
			s.goroutines.Go(func() { s.stopFastWhen(lost) })
		}
		s.goroutines.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for {
				select {
				case job := <-s.forkJobs:
					job()
				case <-s.quit:
					return
				}
			}
		})
	}
	s.number++
	return s.instance + "/" + s.run + "/" + strconv.Itoa(s.number) + "/" + name, nil
}

// stopFastWhen ends all processes as fast as the watchdog would have when lost is closed. If the
// daemon were killed before they had exited, nothing would end them, so the timeouts of the stop
// sequence are shortened. Afterwards no process can be started.
func (s *Spawner) stopFastWhen(lost <-chan struct{}) {
	select {
	case <-lost:
	case <-s.quit:
		return
	}
	s.mu.Lock()
	s.closed = true
	all := slices.Collect(maps.Values(s.running))
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), orphanGrace)
	defer cancel()
	var stops sync.WaitGroup
	for _, p := range all {
		stops.Go(func() { _ = p.Stop(ctx) }) // Close reports errors
	}
	stops.Wait()
}

// ownership reports whether pid is a direct child, for which watch waits, and whether pgid is the
// process group of one.
func (s *Spawner) ownership(pid, pgid int) (direct, group bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, direct = s.running[pid]
	_, group = s.running[pgid]
	return direct, group
}

func (s *Spawner) addToLedger(p *Process, mark string) {
	if s.ledger == nil {
		return
	}
	if err := s.ledger.add(ledgerEntry{PID: p.pid, Start: p.tree.startedAt(), Name: p.spec.Name, Mark: mark, Group: p.tree.groupPath()}); err != nil {
		s.log.Warn("Cannot add a running process to the list of started processes", "server", p.spec.Name, "error", err)
	}
}

// removeFromLedger is called when p has ended. p stays in live until the ledger is written, so
// that nothing writes the ledger after Close has returned.
func (s *Spawner) removeFromLedger(p *Process) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running[p.pid] == p { // the pid may have been reused already
			delete(s.running, p.pid)
		}
	}()
	if s.ledger == nil {
		return
	}
	if err := s.ledger.remove(p.pid); err != nil {
		s.log.Warn("Cannot remove an exited process from the list of started processes", "server", p.spec.Name, "error", err)
	}
}

// Close stops all processes in parallel, and then ends all others that carry the mark of this
// run. Afterwards no process can be started. When ctx is done, the remaining timeouts are
// skipped, but all processes are still ended.
func (s *Spawner) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	all := slices.Collect(maps.Values(s.running))
	s.mu.Unlock()

	errs := make([]error, len(all))
	var stops sync.WaitGroup
	for i, p := range all {
		stops.Go(func() { errs[i] = p.Stop(ctx) })
	}
	stops.Wait()
	s.closeQuit.Do(func() { close(s.quit) })
	s.goroutines.Wait()
	s.endRun()
	endCgroups(s.instance + "-" + s.run)
	return errors.Join(errs...)
}

// withoutVariables returns env without the named variables, as a new slice.
func withoutVariables(env []string, names ...string) []string {
	kept := make([]string, 0, len(env)+1)
next:
	for _, kv := range env {
		for _, name := range names {
			if strings.HasPrefix(kv, name+"=") {
				continue next
			}
		}
		kept = append(kept, kv)
	}
	return kept
}
