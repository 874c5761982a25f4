package process

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"
)

// loginLimit is how long the login shell may take.
const loginLimit = 5 * time.Second

// loginReader reads the environment of a login shell once and keeps the answer.
type loginReader struct {
	read  func() (map[string]string, error)
	begin chan struct{} // holds one token until somebody asked
	done  chan struct{}
	env   map[string]string
	err   error
}

func newLoginReader(read func() (map[string]string, error)) *loginReader {
	r := &loginReader{read: read, begin: make(chan struct{}, 1), done: make(chan struct{})}
	r.begin <- struct{}{}
	return r
}

var login = newLoginReader(readLoginEnv)

// LoginEnv is the environment of the person's login shell, which knows the PATH
// that a start from a desktop does not: node, nvm, uv, brew. The first call
// starts reading it in the background; every call waits for the answer or for
// ctx. It is read once in the life of the process, within 5 s. When that fails,
// the error comes together with our own environment, to carry on with.
func LoginEnv(ctx context.Context) (map[string]string, error) { return login.get(ctx) }

func (r *loginReader) get(ctx context.Context) (map[string]string, error) {
	select {
	case <-r.begin:
		go func() {
			defer close(r.done)
			r.env, r.err = r.read()
			if r.err != nil {
				r.env = ownEnv()
			}
			delete(r.env, keepVariable)
			delete(r.env, MarkVariable)
			delete(r.env, watchdogVariable)
		}()
	default:
	}
	select {
	case <-r.done:
		return maps.Clone(r.env), r.err
	case <-ctx.Done():
		return ownEnv(), fmt.Errorf("cannot wait for the login shell: %w", ctx.Err())
	}
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
