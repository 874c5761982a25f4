//go:build unix

package supervisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// The user installs the missing program into a folder that the shell's start-up files add to
// PATH.
func TestNewlyInstalledProgramIsFoundThroughLoginShell(t *testing.T) {
	g, bin := newReal(t), t.TempDir()
	if err := os.Symlink("/bin/sh", filepath.Join(bin, "newly-installed")); err != nil {
		t.Fatal(err)
	}
	var ages []time.Duration
	path := "/usr/bin:/bin"
	g.dialer.loginEnv = func(context.Context) (map[string]string, error) { return map[string]string{"PATH": path}, nil }
	g.dialer.expireLoginEnv = func(age time.Duration) bool {
		ages, path = append(ages, age), path+":"+bin
		return true
	}
	c := ending("a", `echo found >&2; exit 3`, 1)
	c.Command = "newly-installed"
	g.apply(c)
	if st := g.wait("a", core.StateCrashed); !strings.HasPrefix(st.Reason, "exited with status 3: found") {
		t.Errorf("reason %q", st.Reason)
	}
	if len(ages) != 1 || ages[0] != loginAgeNotFound {
		t.Errorf("asked again after %v", ages)
	}
}

// Any other failure also makes the login shell be read again, but rarely.
func TestFailedStartRefreshesLoginEnvironmentRarely(t *testing.T) {
	g := newReal(t)
	var ages []time.Duration
	g.dialer.expireLoginEnv = func(age time.Duration) bool {
		ages = append(ages, age)
		return false
	}
	g.apply(ending("a", `exit 3`, 2))
	g.wait("a", core.StateCrashed)
	if len(ages) != 2 || ages[0] != 10*time.Minute {
		t.Errorf("asked again after %v", ages)
	}
}

func TestTimedOutLoginShellIsNamedInReason(t *testing.T) {
	g := newReal(t)
	g.dialer.loginEnv = func(context.Context) (map[string]string, error) {
		return map[string]string{"PATH": "/nowhere"}, errors.New("login shell /bin/zsh did not answer within 10s")
	}
	g.dialer.expireLoginEnv = func(time.Duration) bool { return false }
	g.apply(server("a", func(s *config.Server) { s.Command = "drawbridge-test-missing" }))
	if st := g.wait("a", core.StateCrashed); !strings.HasPrefix(st.Hint, "The PATH may be incomplete: the login shell /bin/zsh did not answer within 10s. ") {
		t.Errorf("hint %q", st.Hint)
	}
}
