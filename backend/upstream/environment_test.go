package upstream

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
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
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"PATH": "/login/bin", "NVM": "x", "A": "shared/d", "K": "s-key", "D": "d", "DRAWBRIDGE_TEST_SHARED": "own", "DRAWBRIDGE_TEST_SECRET": "", "NOT_SET": ""} {
		if got[name] != want {
			t.Errorf("%s=%q, want %q", name, got[name], want)
		}
	}
	// The key comes last: what follows the name of a secret is redacted in the history.
	c.Env = map[string]string{"K": "${secret:none}"}
	if _, err := env.forServer(&c); core.CodeOf(err) != core.CodeValidation || !strings.Contains(err.Error(), `there is no secret named "none" (env.K)`) {
		t.Errorf("got %v", err)
	}
	c.Env = map[string]string{"K": "${secret:locked:-a default is no way out}"}
	if _, err := env.forServer(&c); !errors.Is(err, ErrDependencyMissing) || !strings.Contains(err.Error(), "needs-unlock") {
		t.Errorf("locked: %v", err)
	}
}

// quietNetwork removes this machine's network variables from the environment.
func quietNetwork(t *testing.T) {
	t.Helper()
	for _, name := range append(proxyVariableNames, networkVariableNames...) {
		t.Setenv(name, "") // restores it at the end of the test
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"NODE_EXTRA_CA_CERTS": "/etc/ours.pem", "HTTPS_PROXY": "http://proxy.example:3128",
		"no_proxy": "localhost", "GITHUB_TOKEN": "", "NODE_OPTIONS": "", "PIP_INDEX_URL": "",
	} {
		if vars[name] != want {
			t.Errorf("%s=%q, want %q", name, vars[name], want)
		}
	}
	if warnings := e.withheldWarnings(&config.Server{}, vars); len(warnings) > 0 {
		t.Errorf("warned of what was passed on: %v", warnings)
	}
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
		if got := vars["DOCKER_HOST"] + " " + vars["DOCKER_CONTEXT"]; err != nil || got != want {
			t.Errorf("%s: %q, %v", command, got, err)
		}
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
			if err != nil {
				t.Fatal(err)
			}
			if vars["HTTPS_PROXY"] != c.passed {
				t.Errorf("%v: proxy %q", c, vars["HTTPS_PROXY"])
			}
			warnings := strings.Join(e.withheldWarnings(&cfg, vars), "\n")
			if (warnings != "") != c.warned || strings.Contains(warnings, "secret") {
				t.Errorf("%v: warned %q", c, warnings)
			}
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
		if got := unfitFolder(c.goos, c.dir, `C:\Programs\Drawbridge`, `C:\Windows`); got != c.want {
			t.Errorf("%s: %v", c.dir, got)
		}
	}
}
