package upstream

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServerGetsOnlyItsConfiguredEnvironment(t *testing.T) {
	t.Setenv("DRAWBRIDGE_TEST_SECRET", "leak")
	t.Setenv("DRAWBRIDGE_TEST_SHARED", "shared")
	env := environment{login: map[string]string{"PATH": "/login/bin", "NVM": "x"}, secret: func(name string) (string, error) {
		if name == "locked" {
			return "", core.Errorf(core.CodeUnavailable, "needs-unlock: the keyring is locked")
		}
		if name != "key" {
			return "", core.Errorf(core.CodeNotFound, "there is no secret named %q", name)
		}
		return "s-key", nil
	}}
	c := server("a", func(s *config.Server) {
		s.InheritEnv = []string{"DRAWBRIDGE_TEST_SHARED", "NVM", "NOT_SET"}
		s.Env = map[string]string{"A": "${DRAWBRIDGE_TEST_SHARED}/${NO:-d}", "K": "${secret:key}", "D": "${secret:none:-d}", "DRAWBRIDGE_TEST_SHARED": "own"}
	})
	got, err := env.forServer(&c)
	require.NoError(t, err)
	for name, want := range map[string]string{"PATH": "/login/bin", "NVM": "x", "A": "shared/d", "K": "s-key", "D": "d", "DRAWBRIDGE_TEST_SHARED": "own", "DRAWBRIDGE_TEST_SECRET": "", "NOT_SET": ""} {
		assert.Equal(t, want, got[name])
	}
	// The key comes last: what follows the name of a secret is redacted in the history.
	c.Env = map[string]string{"K": "${secret:none}"}
	_, err = env.forServer(&c)
	assert.Truef(t, core.CodeOf(err) == core.CodeValidation && strings.Contains(err.Error(), `there is no secret named "none" (env.K)`), "got %v", err)
	c.Env = map[string]string{"K": "${secret:locked:-a default is no way out}"}
	_, err = env.forServer(&c)
	assert.Truef(t, errors.Is(err, ErrDependencyMissing) && strings.Contains(err.Error(), "needs-unlock"), "locked: %v", err)
}

// quietNetwork removes this machine's network variables from the environment.
func quietNetwork(t *testing.T) {
	t.Helper()
	for _, name := range append(proxyVariableNames, networkVariableNames...) {
		t.Setenv(name, "") // restores it at the end of the test
		require.NoError(t, os.Unsetenv(name))
	}
}

func TestServerGetsProxyVariablesOfTheTerminal(t *testing.T) {
	quietNetwork(t)
	t.Setenv("NODE_EXTRA_CA_CERTS", "/etc/ours.pem")
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	t.Setenv("GITHUB_TOKEN", "ghp_x")
	t.Setenv("NODE_OPTIONS", "--require=/tmp/x.js")
	e := environment{login: map[string]string{"no_proxy": "localhost", "PIP_INDEX_URL": "https://user:password@pip.example"}}
	vars, err := e.forServer(&config.Server{})
	require.NoError(t, err)
	for name, want := range map[string]string{
		"NODE_EXTRA_CA_CERTS": "/etc/ours.pem", "HTTPS_PROXY": "http://proxy.example:3128",
		"no_proxy": "localhost", "GITHUB_TOKEN": "", "NODE_OPTIONS": "", "PIP_INDEX_URL": "",
	} {
		assert.Equal(t, want, vars[name])
	}
	warnings := e.withheldWarnings(&config.Server{}, vars)
	assert.Truef(t, len(warnings) <= 0, "warned of what was passed on: %v", warnings)
	// The server's own env has precedence, also with an empty value.
	own := config.Server{Env: map[string]string{"HTTPS_PROXY": "", "NODE_EXTRA_CA_CERTS": "/other.pem"}}
	if vars, err = e.forServer(&own); err != nil || vars["HTTPS_PROXY"] != "" || vars["NODE_EXTRA_CA_CERTS"] != "/other.pem" {
		t.Errorf("%v, %v", vars, err)
	}
}

func TestDockerCommandUsesEngineOfTheTerminal(t *testing.T) {
	quietNetwork(t)
	for _, name := range engineVariableNames {
		t.Setenv(name, "")
	}
	t.Setenv("DOCKER_HOST", "tcp://10.0.0.1:2375")
	t.Setenv("DOCKER_CONTEXT", "far")
	e := environment{}
	for command, want := range map[string]string{"docker": "tcp://10.0.0.1:2375 far", "/usr/bin/docker": "tcp://10.0.0.1:2375 far", "podman": "tcp://10.0.0.1:2375 far", "npx": " "} {
		vars, err := e.forServer(&config.Server{Type: core.Stdio, Command: command, Args: []string{"run", "-i", "--rm", "x"}})
		got := vars["DOCKER_HOST"] + " " + vars["DOCKER_CONTEXT"]
		assert.Truef(t, err == nil && got == want, "%s: %q, %v", command, got, err)
	}
	own := config.Server{Type: core.Stdio, Command: "docker", Env: map[string]string{"DOCKER_HOST": "unix:///own.sock"}}
	if vars, err := e.forServer(&own); err != nil || vars["DOCKER_HOST"] != "unix:///own.sock" {
		t.Errorf("%v, %v", vars["DOCKER_HOST"], err)
	}
}

func TestProxyPasswordIsPassedOnRequestOnly(t *testing.T) {
	quietNetwork(t)
	e := environment{}
	for _, proxy := range []string{"http://user:secret@proxy:3128", "user:secret@proxy:3128", "http://secret@proxy", "http://proxy/?key=secret"} {
		t.Setenv("HTTPS_PROXY", proxy)
		for _, c := range []struct {
			inherit []string
			env     map[string]string
			passed  string
			warned  bool
		}{
			{nil, nil, "", true},
			{[]string{"network"}, nil, proxy, false},
			{[]string{"HTTPS_PROXY"}, nil, proxy, false},
			{nil, map[string]string{"HTTPS_PROXY": "http://other"}, "http://other", false},
			{nil, map[string]string{"HTTPS_PROXY": ""}, "", false},
		} {
			cfg := config.Server{InheritEnv: c.inherit, Env: c.env}
			vars, err := e.forServer(&cfg)
			require.NoError(t, err)
			assert.Equal(t, c.passed, vars["HTTPS_PROXY"])
			warnings := strings.Join(e.withheldWarnings(&cfg, vars), "\n")
			assert.Equal(t, c.warned, warnings != "")
			assert.NotContains(t, warnings, "secret")
		}
	}
}

func TestServersDoNotRunInFoldersOfTheSystem(t *testing.T) {
	for _, c := range []struct {
		goos, dir string
		want      bool
	}{
		{"darwin", "/", true}, {"darwin", "/Users/ana", false}, {"linux", "/", false},
		{"windows", `C:\WINDOWS\system32`, true}, {"windows", `c:\programs\drawbridge`, true}, {"windows", `C:\Users\ana`, false},
	} {
		assert.Equal(t, c.want, unfitFolder(c.goos, c.dir, `C:\Programs\Drawbridge`, `C:\Windows`), c.dir)
	}
}
