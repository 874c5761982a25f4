//go:build unix

package upstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program may be installed into a folder that the shell's start-up files add to PATH. Any other
// failure also makes the login shell be read again, but rarely.
func TestNewlyInstalledProgramIsFoundThroughLoginShell(t *testing.T) {
	bin := t.TempDir()
	require.NoError(t, os.Symlink("/bin/sh", filepath.Join(bin, "newly-installed")))
	for _, c := range []struct {
		command string
		shell   error // why the login shell could not be read
		found   bool  // the program, in the environment that is read again
		ages    []time.Duration
		want    string // in the error or its hint; "": the server was started and exited
	}{
		{"newly-installed", nil, true, []time.Duration{loginAgeNotFound}, ""},
		{"sh", nil, false, []time.Duration{loginAgeFailed}, ""},
		{"drawbridge-test-missing", errors.New("login shell /bin/zsh did not respond within 10s"), false, []time.Duration{loginAgeNotFound, loginAgeFailed},
			"The PATH may be incomplete: the login shell /bin/zsh did not respond within 10s. "},
	} {
		d := newDialer(t)
		env := map[string]string{"PATH": "/usr/bin:/bin"}
		d.loginEnv = func(context.Context) (map[string]string, error) { return maps.Clone(env), c.shell }
		var ages []time.Duration
		d.expireLoginEnv = func(age time.Duration) bool {
			ages = append(ages, age)
			env["PATH"] += ":" + bin
			return c.found
		}
		s := server("a", func(s *config.Server) { s.Command, s.Args = c.command, []string{"-c", "exit 3"} })
		_, err := d.Connect(t.Context(), Request{Server: &s, Changed: func(core.Kind) {}})
		_, hint := core.Describe(err)
		asWanted := strings.Contains(fmt.Sprint(err, " ", hint), c.want) && (c.want != "" || Exited(err))
		assert.Truef(t, asWanted && slices.Equal(ages, c.ages), "%s: %v, hint %q; read again after %v", c.command, err, hint, ages)
	}
}
