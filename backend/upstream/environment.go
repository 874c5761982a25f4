package upstream

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

// environment resolves ${VAR} and inheritEnv: first from Drawbridge's own variables, then from
// those of the login shell. ${secret:NAME} is resolved by secret.
type environment struct {
	login    map[string]string
	loginErr error                             // why the login shell could not be read
	secret   func(name string) (string, error) // may be nil
	// workspace is the value of ${workspaceFolder}, or "".
	workspace string
}

// Minimum age at which the environment of the login shell is read again: after an executable was
// not found, because it may just have been installed; and after other failures, because a
// start-up file may have changed as well.
const (
	loginAgeNotFound = 5 * time.Second // servers that fail at the same time share one read
	loginAgeFailed   = 10 * time.Minute
)

// readEnvironment waits for the environment of the login shell. If that cannot be read, the
// environment contains only Drawbridge's own variables.
func (d *Dialer) readEnvironment(ctx context.Context) environment {
	read := d.loginEnv
	if read == nil {
		read = process.LoginEnv
	}
	login, err := read(ctx)
	e := environment{login: login, loginErr: err}
	if d.Secret != nil {
		e.secret = func(name string) (string, error) { return d.Secret(ctx, name) }
	}
	return e
}

// expireLogin marks the environment of the login shell as outdated if it was read longer than age
// ago, and reports whether it did.
func (d *Dialer) expireLogin(age time.Duration) bool {
	if d.expireLoginEnv != nil {
		return d.expireLoginEnv(age)
	}
	return process.ExpireLoginEnv(age)
}

// lookup returns the value of ${name} if name is not a secret. The PATH of the login shell has
// precedence over our own.
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

// forServer returns the environment of a server: the base variables with the login shell's PATH,
// network variables, the variables in inheritEnv, and those that its configuration sets.
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
	if name := launcherName(c.Command); c.Type == core.Stdio && (name == "docker" || name == "podman") {
		maps.Copy(env, e.engineVariables())
	}
	for _, name := range inheritedNames(c.InheritEnv) {
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

// expand replaces the variables in value. key is the configuration key for errors, which never
// contain a value.
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
		return "", fmt.Errorf("%w: %w", ErrDependencyMissing, failed) // the secret exists, so the server waits for the keyring
	case failed != nil && (err != nil || core.CodeOf(failed) != core.CodeNotFound):
		reason := &core.Error{Code: core.CodeValidation, Message: unresolved(key, failed), Fields: []core.FieldError{{Field: key, Error: "cannot read the secret"}}}
		if e, ok := errors.AsType[*core.Error](failed); ok {
			reason.Hint, reason.Remedy = e.Hint, e.Remedy
		}
		return "", reason
	}
	if err != nil {
		reason := &core.Error{Code: core.CodeValidation, Message: unresolved(key, err),
			Fields: []core.FieldError{{Field: key, Error: "variable is not set"}}}
		if unset, ok := errors.AsType[*config.UnsetError](err); ok {
			reason.Hint = "Set the variable, or give it a default: ${NAME:-default}."
			reason.Remedy = core.Remedy{Kind: core.RemedySetVariable, Name: unset.Name}
		}
		return "", reason
	}
	return s, nil
}

// unresolved names the key after the reason. Before it, a key such as env.API_TOKEN would look like
// the name of a secret whose value follows, and the reason would be redacted in the history.
func unresolved(key string, err error) string { return fmt.Sprintf("%v (%s)", err, key) }

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

// expandAll expands in the order of the names, so that the reported error is deterministic.
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

// envList returns env as sorted NAME=VALUE strings.
func envList(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}
