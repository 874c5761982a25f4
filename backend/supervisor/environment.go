package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// environment is what a server's ${VAR} and inheritEnv can refer to: our own
// variables, then those of the login shell, then secrets.
type environment struct {
	login  map[string]string
	failed error                             // why the login shell did not tell it
	secret func(name string) (string, error) // may be nil
	// workspace is the value of ${workspaceFolder}.
	workspace string
}

// When what the login shell told is read again: an executable that was not found may just
// have been installed, a restart is often the answer to a changed start-up file, and other
// failures may have either cause.
const (
	loginAgeNotFound = 5 * time.Second // servers that fail together share one reading
	loginAgeRestart  = time.Second
	loginAgeFailed   = 10 * time.Minute
)

// readEnvironment waits for the login shell. Without an answer our own environment has to do.
func (d *Dialer) readEnvironment(ctx context.Context) environment {
	read := d.loginEnv
	if read == nil {
		read = process.LoginEnv
	}
	login, err := read(ctx)
	e := environment{login: login, failed: err}
	if d.Secret != nil {
		e.secret = func(name string) (string, error) { return d.Secret(ctx, name) }
	}
	return e
}

// expireLogin has the login shell asked again where it was asked longer than age ago.
func (d *Dialer) expireLogin(age time.Duration) bool {
	if d.expire != nil {
		return d.expire(age)
	}
	return process.ExpireLoginEnv(age)
}

// lookup finds the value of ${name}, unless it is a secret.
func (e environment) lookup(name string) (string, bool) {
	if name == config.WorkspaceFolder {
		return e.workspace, e.workspace != ""
	}
	if v, ok := os.LookupEnv(name); ok && name != "PATH" {
		return v, true
	}
	if v, ok := e.login[name]; ok {
		return v, true
	}
	return os.LookupEnv(name)
}

// forServer makes the whole environment of a server: the safe list with the login
// shell's PATH, how to reach the network, what it inherits by name, and what its
// configuration sets.
func (e environment) forServer(c *config.Server) (map[string]string, error) {
	env := map[string]string{}
	for _, kv := range process.BaseEnv() {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	if path := e.login["PATH"]; path != "" {
		env["PATH"] = path
	}
	maps.Copy(env, e.networkVariables())
	if name := launcher(c.Command); c.Type == core.Stdio && (name == "docker" || name == "podman") {
		maps.Copy(env, e.engineVariables())
	}
	for _, name := range inherited(c.InheritEnv) {
		if value, ok := e.lookup(name); ok {
			env[name] = value
		}
	}
	set, err := e.expandAll("env", c.Env)
	if err != nil {
		return nil, err
	}
	maps.Copy(env, set)
	return env, nil
}

// expand replaces the variables in the value of key. The error names the key and
// the variable, never a value.
func (e environment) expand(key, value string) (string, error) {
	var failed error
	s, err := config.Expand(value, func(name string) (string, bool) {
		secret, ok := strings.CutPrefix(name, "secret:")
		if !ok || e.secret == nil {
			return e.lookup(name)
		}
		v, err := e.secret(secret)
		if err != nil && (failed == nil || core.CodeOf(err) != core.CodeNotFound) {
			failed = err
		}
		return v, err == nil
	})
	switch {
	case core.CodeOf(failed) == core.CodeUnavailable:
		return "", fmt.Errorf("%w: %w", ErrAbsent, failed) // it is there: the server waits for the keyring
	case failed != nil && (err != nil || core.CodeOf(failed) != core.CodeNotFound):
		reason := &core.Error{Code: core.CodeValidation, Message: key + ": " + failed.Error(), Fields: []core.FieldError{{Field: key, Error: "secret cannot be read"}}}
		if e, ok := errors.AsType[*core.Error](failed); ok {
			reason.Hint = e.Hint
		}
		return "", reason
	}
	if err != nil {
		reason := &core.Error{Code: core.CodeValidation, Message: fmt.Sprintf("%s: %v", key, err),
			Fields: []core.FieldError{{Field: key, Error: "variable is not set"}}}
		if errors.Is(err, config.ErrUnset) {
			reason.Hint = "Set the variable, or give it a default: ${NAME:-default}."
		}
		return "", reason
	}
	return s, nil
}

func (e environment) expandList(key string, values []string) ([]string, error) {
	list := make([]string, len(values))
	for i, v := range values {
		s, err := e.expand(fmt.Sprintf("%s[%d]", key, i), v)
		if err != nil {
			return nil, err
		}
		list[i] = s
	}
	return list, nil
}

// expandAll expands in the order of the names, so that the same mistake is always
// reported first.
func (e environment) expandAll(key string, values map[string]string) (map[string]string, error) {
	all := make(map[string]string, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		s, err := e.expand(key+"."+name, values[name])
		if err != nil {
			return nil, err
		}
		all[name] = s
	}
	return all, nil
}

// pairs is env as processes take it.
func pairs(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}
