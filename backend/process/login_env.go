package process

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"time"
)

// defaultLoginLimit is how long the login shell may take unless SetLoginLimit says otherwise.
const defaultLoginLimit = 10 * time.Second

// loginEnvReader reads the environment of a login shell when it is first asked for it, and
// again once the answer has expired.
type loginEnvReader struct {
	read    func(limit time.Duration) (map[string]string, error)
	changed chan struct{} // holds one token after each reading but the first

	mu    sync.Mutex
	limit time.Duration
	done  chan struct{} // closed when the newest reading has ended; nil before the first one
	ended time.Time     // of the newest reading; zero while it goes on
	stale bool
	env   map[string]string // of the newest reading that succeeded, else our own
	known bool              // env is a login shell's
	err   error             // of the newest reading
}

func newLoginEnvReader(read func(limit time.Duration) (map[string]string, error)) *loginEnvReader {
	return &loginEnvReader{read: read, limit: defaultLoginLimit, changed: make(chan struct{}, 1)}
}

var login = newLoginEnvReader(readLoginEnv)

// LoginEnv is the environment of the user's login shell, which knows the PATH
// that a start from a desktop does not: node, nvm, uv, brew. The first call
// starts reading it in the background; every call waits for the answer or for
// ctx. It is read again only after ExpireLoginEnv. When that fails, the error comes
// together with what an earlier reading told, else our own environment, to carry on with.
func LoginEnv(ctx context.Context) (map[string]string, error) { return login.get(ctx) }

// ExpireLoginEnv has the next LoginEnv read again what was read longer than age ago, and
// reports whether it will.
func ExpireLoginEnv(age time.Duration) bool { return login.expire(age) }

// LoginFailure is why the newest reading of the login shell failed; nil when it did not,
// or there was none. It does not wait.
func LoginFailure() error { return login.failure() }

// SetLoginLimit sets how long the login shell may take from its next reading on. That
// comes with the next LoginEnv where the newest one failed under another limit.
func SetLoginLimit(limit time.Duration) { login.setLimit(limit) }

// LoginEnvChanges gets a value after each reading but the first. It has one receiver.
func LoginEnvChanges() <-chan struct{} { return login.changed }

func (r *loginEnvReader) get(ctx context.Context) (map[string]string, error) {
	r.mu.Lock()
	if r.done == nil || r.stale {
		again := r.done != nil
		r.done, r.stale, r.ended = make(chan struct{}), false, time.Time{}
		go r.run(r.limit, r.done, again)
	}
	done := r.done
	r.mu.Unlock()
	select {
	case <-done:
		r.mu.Lock()
		defer r.mu.Unlock()
		return maps.Clone(r.env), r.err
	case <-ctx.Done():
		return ownEnv(), fmt.Errorf("cannot wait for the login shell: %w", ctx.Err())
	}
}

func (r *loginEnvReader) run(limit time.Duration, done chan struct{}, again bool) {
	env, err := r.read(limit)
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(done)
	r.err, r.ended = err, time.Now()
	switch {
	case err == nil:
		r.env, r.known = env, true
	case !r.known:
		r.env = ownEnv()
	}
	for _, name := range []string{keepVariable, MarkVariable, watchdogVariable} {
		delete(r.env, name)
	}
	if again {
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
	if limit != r.limit && r.err != nil && !r.ended.IsZero() {
		r.stale = true
	}
	r.limit = limit
}

func (r *loginEnvReader) expire(age time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended.IsZero() { // nobody has asked yet, or it is just being read
		return false
	}
	if time.Since(r.ended) >= age {
		r.stale = true
	}
	return r.stale
}

func ownEnv() map[string]string { return asMap(os.Environ()) }

func asMap(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, kv := range list {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			env[name] = value
		}
	}
	return env
}

// Lookup finds a variable as servers get it: in the environment that getenv reads, else in
// that of the login shell.
func Lookup(ctx context.Context, getenv func(string) string) func(name string) string {
	login, _ := LoginEnv(ctx) // without an answer it is our own environment
	return func(name string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return login[name]
	}
}
