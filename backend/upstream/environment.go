package upstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
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
	switch {
	case d.Start != nil: // a simulated process has none
		read = func(context.Context) (map[string]string, error) { return nil, nil }
	case read == nil:
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
	if v, ok := os.LookupEnv(name); ok && !strings.EqualFold(name, "PATH") {
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
			process.SetVariable(env, name, value)
		}
	}
	if path := e.login["PATH"]; path != "" {
		env["PATH"] = path
	}
	if runtime.GOOS == "darwin" && env["LC_ALL"]+env["LC_CTYPE"]+env["LANG"] == "" {
		env["LC_CTYPE"] = "UTF-8" // Finder starts programs without a locale, and Terminal sets it as well
	}
	further := e.networkVariables()
	if name := launcherName(c.Command); c.Type == core.Stdio && (name == "docker" || name == "podman") {
		maps.Copy(further, e.engineVariables())
	}
	for name, value := range further {
		process.SetVariable(env, name, value)
	}
	for _, name := range inheritedNames(c.InheritEnv) {
		if value, ok := e.lookup(name); ok {
			process.SetVariable(env, name, value)
		}
	}
	set, err := e.expandAll("env", c.Env)
	if err != nil {
		return nil, err
	}
	for name, value := range set {
		process.SetVariable(env, name, value)
	}
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
			reason.Hint = "Set it where your login shell reads it, such as ~/.profile or ~/.bashrc: the variables of one terminal are not seen. Or store it with \"drawbridge secret set NAME\" and refer to it as ${secret:NAME}, or give it a default: ${NAME:-default}."
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

// groupNetwork in inheritEnv stands for all variables that programs need behind a proxy or with a
// private certificate authority, regardless of their values.
const groupNetwork = "network"

// proxyVariableNames are variables whose values may contain a user name and a password.
var proxyVariableNames = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
}

// networkVariableNames are variables with paths of certificates, switches and host names. They
// contain no secrets, and without them npx and uvx cannot reach the network of many companies.
var networkVariableNames = []string{
	"NO_PROXY", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "REQUESTS_CA_BUNDLE",
	"CURL_CA_BUNDLE", "PIP_CERT", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "GIT_SSL_CAINFO", "DENO_CERT", "AWS_CA_BUNDLE",
}

// inheritedNames returns the names in inheritEnv with groupNetwork expanded.
func inheritedNames(names []string) []string {
	i := slices.Index(names, groupNetwork)
	if i < 0 {
		return names
	}
	return append(append(slices.Delete(slices.Clone(names), i, i+1), networkVariableNames...), proxyVariableNames...)
}

// networkVariables returns the network variables that every local server gets by default: all
// except proxies whose address contains more than a host and a port.
func (e environment) networkVariables() map[string]string {
	env := map[string]string{}
	for _, name := range networkVariableNames {
		if value, _ := e.lookup(name); value != "" {
			process.SetVariable(env, name, value) // http_proxy is HTTP_PROXY on Windows
		}
	}
	for _, name := range proxyVariableNames {
		if value, _ := e.lookup(name); value != "" && !mayHoldPassword(value) {
			process.SetVariable(env, name, value) // http_proxy is HTTP_PROXY on Windows
		}
	}
	return env
}

// engineVariableNames are variables that select a Docker Engine: addresses, names and paths.
var engineVariableNames = []string{
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_API_VERSION", "CONTAINER_HOST",
}

// engineVariables returns the variables that docker and podman commands get by default, so that
// they use the same Engine as servers of type docker.
func (e environment) engineVariables() map[string]string {
	env := map[string]string{}
	for _, name := range engineVariableNames {
		if value, _ := e.lookup(name); value != "" {
			env[name] = value
		}
	}
	return env
}

// mayHoldPassword reports whether the address of a proxy contains a user or a query. It prefers a
// needless warning to a password in the environment of a server.
func mayHoldPassword(proxy string) bool { return strings.ContainsAny(proxy, "@?") }

// withheldWarnings returns a warning if a proxy is set here but not passed to the server. It
// contains names of variables but never a value.
func (e environment) withheldWarnings(c *config.Server, vars map[string]string) []string {
	if slices.Contains(c.InheritEnv, groupNetwork) {
		return nil
	}
	var names []string
	for _, name := range proxyVariableNames {
		if _, passed := vars[name]; passed || runtime.GOOS == "windows" && name != strings.ToUpper(name) {
			continue // possibly as an empty value in its configuration; Windows ignores the case of names
		}
		if value, _ := e.lookup(name); value != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s set in Drawbridge's environment but not passed to the server, because of the user name or password in it: add %q to inheritEnv if the server needs the network", areSetText(names), groupNetwork)}
}

func areSetText(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// workspace returns the value of ${workspaceFolder} for one start.
func (d *Dialer) workspace(r Request) (string, error) {
	if !r.Server.UsesWorkspace() {
		return "", nil
	}
	if r.Workspace == "" {
		if d.DefaultWorkspace == "" {
			return os.UserHomeDir()
		}
		return d.DefaultWorkspace, os.MkdirAll(d.DefaultWorkspace, 0o700)
	}
	info, err := os.Stat(r.Workspace)
	if !filepath.IsAbs(r.Workspace) || err != nil || !info.IsDir() {
		return "", &core.Error{Code: core.CodeValidation, Cause: err,
			Message: "the client's workspace is not a folder on this machine"}
	}
	return r.Workspace, nil
}
