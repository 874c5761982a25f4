package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// defaultLoginLimit is the timeout for reading the environment of the login shell, unless
// SetLoginLimit sets another.
const defaultLoginLimit = 10 * time.Second

// loginEnvReader reads the environment of a login shell on first use, and again after it has been
// expired.
type loginEnvReader struct {
	read    func(limit time.Duration) (map[string]string, error)
	changed chan struct{} // receives a value after each read except the first

	mu        sync.Mutex
	limit     time.Duration
	done      chan struct{} // closed when the newest read has ended; nil before the first one
	lastRead  time.Time     // end of the newest read; zero while it is in progress
	stale     bool
	env       map[string]string // result of the newest successful read, or our own environment
	fromShell bool              // env is from a login shell
	err       error             // of the newest read
}

func newLoginEnvReader(read func(limit time.Duration) (map[string]string, error)) *loginEnvReader {
	return &loginEnvReader{read: read, limit: defaultLoginLimit, changed: make(chan struct{}, 1)}
}

var login = newLoginEnvReader(readLoginEnv)

// LoginEnv returns the environment of the user's login shell. Its PATH contains folders that a
// process started from a desktop does not have: node, nvm, uv, brew. The first call starts
// reading it in the background; every call waits for the result or until ctx is done. It is read
// again only after ExpireLoginEnv. If a read fails, LoginEnv returns the error together with the
// result of an earlier read or our own environment.
func LoginEnv(ctx context.Context) (map[string]string, error) { return login.get(ctx) }

// BeginLoginEnv starts reading the environment of the login shell, so that the first LoginEnv waits less.
func BeginLoginEnv(limit time.Duration) {
	login.setLimit(limit)
	login.begin()
}

// ExpireLoginEnv makes the next LoginEnv read the environment again if it was read longer than
// age ago. It reports whether the next LoginEnv will read it.
func ExpireLoginEnv(age time.Duration) bool { return login.expire(age) }

// LoginFailure returns the error of the newest read of the login shell, or nil. It does not
// block.
func LoginFailure() error { return login.failure() }

// SetLoginLimit sets the timeout of later reads. If the newest read failed under another limit,
// the next LoginEnv reads again.
func SetLoginLimit(limit time.Duration) { login.setLimit(limit) }

// LoginEnvRereads returns a channel that receives a value after each read except the first. It
// must have only one receiver.
func LoginEnvRereads() <-chan struct{} { return login.changed }

// begin starts a read unless there is a current one. It returns what is closed when that has ended.
func (r *loginEnvReader) begin() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done == nil || r.stale {
		reread := r.done != nil
		r.done, r.stale, r.lastRead = make(chan struct{}), false, time.Time{}
		go r.run(r.limit, r.done, reread)
	}
	return r.done
}

func (r *loginEnvReader) get(ctx context.Context) (map[string]string, error) {
	select {
	case <-r.begin():
		r.mu.Lock()
		defer r.mu.Unlock()
		return maps.Clone(r.env), r.err
	case <-ctx.Done():
		return ownEnv(), fmt.Errorf("cannot wait for the login shell: %w", ctx.Err())
	}
}

func (r *loginEnvReader) run(limit time.Duration, done chan struct{}, reread bool) {
	env, err := r.read(limit)
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(done)
	r.err, r.lastRead = err, time.Now()
	switch {
	case err == nil:
		r.env, r.fromShell = env, true
	case !r.fromShell:
		r.env = ownEnv()
	}
	for _, name := range []string{keepVariable, MarkVariable, watchdogVariable} {
		delete(r.env, name)
	}
	if reread {
		select {
		case r.changed <- struct{}{}:
		default:
		}
	}
}

func (r *loginEnvReader) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *loginEnvReader) setLimit(limit time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if limit != r.limit && r.err != nil && !r.lastRead.IsZero() {
		r.stale = true
	}
	r.limit = limit
}

func (r *loginEnvReader) expire(age time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lastRead.IsZero() { // not read yet, or a read is in progress
		return false
	}
	if time.Since(r.lastRead) >= age {
		r.stale = true
	}
	return r.stale
}

func ownEnv() map[string]string { return asMap(os.Environ()) }

func asMap(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, kv := range list {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			SetVariable(env, name, value)
		}
	}
	return env
}

// SetVariable sets a variable. On Windows, where the names of variables ignore case, it replaces the one
// with the same name, and the usual Path becomes PATH.
func SetVariable(env map[string]string, name, value string) {
	if runtime.GOOS == "windows" {
		if strings.EqualFold(name, "PATH") {
			name = "PATH"
		}
		for other := range env {
			if strings.EqualFold(other, name) {
				name = other
				break
			}
		}
	}
	env[name] = value
}

// Lookup returns a function that returns the value of a variable as servers get it: from getenv,
// or else from the environment of the login shell.
func Lookup(ctx context.Context, getenv func(string) string) func(name string) string {
	login, _ := LoginEnv(ctx) // our own environment if the read fails
	return func(name string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return login[name]
	}
}

// Launch starts a program for the user, such as a browser or our window, with our complete
// environment and extra (KEY=value). The program survives the end of this process: neither Stop
// nor the watchdog ends it. Launch does not wait for it.
func Launch(extra []string, path string, args ...string) error {
	_, err := launch(extra, nil, path, args)
	return err
}

// LaunchAndNotify is like Launch. ended receives the result of the program when it exits.
func LaunchAndNotify(extra []string, path string, args ...string) (ended <-chan error, err error) {
	return launch(extra, nil, path, args)
}

// launch starts a program. ended receives its result when it exits. readyPipe is passed as file
// descriptor 3, or nil.
func launch(extra []string, readyPipe *os.File, path string, args []string) (ended <-chan error, err error) {
	for _, detach := range detachModes {
		cmd := exec.Command(path, args...)
		cmd.Env = append(withoutVariables(os.Environ(), watchdogVariable, MarkVariable), keepVariable+"=1")
		cmd.Env = append(cmd.Env, extra...)
		if readyPipe != nil {
			cmd.ExtraFiles = []*os.File{readyPipe}
		}
		detach(cmd)
		if err = cmd.Start(); err == nil {
			end := make(chan error, 1)
			go func() { end <- cmd.Wait() }()
			return end, nil
		}
		if !errors.Is(err, fs.ErrPermission) {
			break
		}
	}
	return nil, fmt.Errorf("cannot launch %s: %w", path, err)
}

// readyVariable tells a program to write a byte to file descriptor 3 when it is ready.
const readyVariable = "DRAWBRIDGE_READY"

// exitAlreadyRunning is the exit code of a program that found another instance running and passed
// its request on.
const exitAlreadyRunning = 1

// LaunchAndWaitReady is like Launch for a program that opens a window and then writes a byte to
// file descriptor 3. It returns an error if the program exits before, for example because a
// library or the display is missing. After within it returns nil without waiting any longer.
func LaunchAndWaitReady(within time.Duration, extra []string, path string, args ...string) error {
	if !supportsReadyPipe {
		return Launch(extra, path, args...)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("cannot launch %s: %w", path, err)
	}
	defer read.Close()
	ended, err := launch(append(extra[:len(extra):len(extra)], readyVariable+"=1"), write, path, args)
	write.Close()
	if err != nil {
		return err
	}
	if err := read.SetReadDeadline(time.Now().Add(within)); err != nil {
		return fmt.Errorf("cannot wait for %s: %w", path, err)
	}
	if n, err := read.Read(make([]byte, 1)); n == 1 || errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	select { // the descriptor was closed, probably because the program exited
	case err := <-ended:
		if exit, ok := errors.AsType[*exec.ExitError](err); err == nil || ok && exit.ExitCode() == exitAlreadyRunning {
			return nil
		}
		return fmt.Errorf("%s ended: %w", path, err)
	case <-time.After(within):
		return nil
	}
}
