package upstream

import (
	"errors"
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
