//go:build linux

package upstream

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A trial reports what a server offers, and leaves no process.
func TestTrialShowsServerWithoutStoringIt(t *testing.T) {
	t.Parallel()
	d := newDialer(t)
	d.DockerLedger = t.TempDir()
	good := server("tried", func(s *config.Server) {
		s.Command, s.Args, s.Env = os.Args[0], []string{"-test.run=^$"}, map[string]string{mcptest.Env: "legacy"}
	})
	got := d.Try(t.Context(), &good, "", nil)
	require.Truef(t, got.Err == nil && len(got.Catalog.Tools) != 0 && got.Era == core.Legacy && got.Reached && got.Took > 0, "%+v", got)
	assert.NotEmpty(t, got.Catalog.Tools[0].Raw, "a tool without its schema")
	u, err := d.Usage("test-tried")
	assert.Falsef(t, err == nil && len(u.Tree) > 0, "left running: %+v", u.Tree)

	for name, c := range map[string]config.Server{
		"executable not found": server("a", func(s *config.Server) { s.Command = "no-such-program-here" }),
		"exited with status 3": server("b", func(s *config.Server) { s.Command, s.Args = "/bin/sh", []string{"-c", "echo why >&2; exit 3"} }),
		"NOT_SET_HERE":         server("c", func(s *config.Server) { s.Command = "${NOT_SET_HERE}" }),
		"did not respond": server("d", func(s *config.Server) {
			s.Command, s.Args, s.StartupTimeout = "/bin/sleep", []string{"60"}, 500*time.Millisecond
		}),
		`did not respond within 500ms: it sent a response with the id "other", which no request has`: server("i", func(s *config.Server) {
			s.Command, s.StartupTimeout = "/bin/sh", 500*time.Millisecond
			s.Args = []string{"-c", `read request; echo '{"jsonrpc":"2.0","id":"other","result":{}}'; cat >/dev/null`}
		}),
		"cannot be reached": server("e", func(s *config.Server) { s.Type, s.Command, s.URL = core.HTTP, "", "http://127.0.0.1:1/mcp" }),
		"no such container": server("f", func(s *config.Server) { s.Type, s.Docker = core.Docker, config.Docker{Container: "drawbridge-none"} }),
		"/nowhere/docker.sock does not exist": server("g", func(s *config.Server) {
			s.Type, s.Docker = core.Docker, config.Docker{Image: "x", Host: "unix:///nowhere/docker.sock"}
		}),
		"ACME_API_KEY is required": server("k", func(s *config.Server) {
			s.Command, s.Args = "/bin/sh", []string{"-c", "echo 'Error: ACME_API_KEY is required' >&2; exit 1"}
		}),
	} {
		got := d.Try(t.Context(), &c, "", nil)
		if variable, ok := map[string]string{"NOT_SET_HERE": "NOT_SET_HERE", "ACME_API_KEY is required": "ACME_API_KEY"}[name]; ok {
			assert.Equal(t, core.Remedy{Kind: core.RemedySetVariable, Name: variable}, got.Remedy)
		}
		if name == "no such container" && errors.Is(got.Err, dockerexec.ErrNoDocker) {
			continue
		}
		if got.Err == nil || !strings.Contains(got.Reason, name) || strings.Contains(got.Reason, "test-") {
			t.Errorf("%s: %q, %v; %s", name, got.Reason, got.Err, logText(got))
		}
		assert.Truef(t, strings.Count(logText(got), "why") <= 1, "%s: a command that crashes is started again: %s", name, logText(got))
	}
}

func TestTrialIsConfinedLikeServer(t *testing.T) {
	if _, enough := sandbox.Unsupported(sandbox.Rules{}); !enough {
		t.Skip("this kernel cannot enforce a sandbox")
	}
	d, private := newDialer(t), t.TempDir()
	key := filepath.Join(private, "key")
	require.NoError(t, os.WriteFile(key, []byte("the secret\n"), 0o600))
	d.PrivatePaths = func() []string { return []string{private} }
	c := server("a", func(s *config.Server) {
		s.Command, s.Args, s.Sandbox.On = "/bin/sh", []string{"-c", `cat "$0" >&2; echo tried >&2; exit 3`, key}, true
	})
	text := logText(d.Try(t.Context(), &c, "", nil))
	assert.Truef(t, !strings.Contains(text, "the secret") && strings.Contains(text, "tried"), "a private file was read: %s", text)
}

func logText(t Trial) (text string) {
	for _, l := range t.Log {
		text += l.Text + "\n"
	}
	return text
}

func TestTrialShowsNoSecret(t *testing.T) {
	t.Parallel()
	d := newDialer(t)
	d.Redact = func(text string) string { return strings.ReplaceAll(text, "hunter22", "[redacted]") }
	c := server("tried", func(s *config.Server) {
		s.Command, s.Args = "/bin/sh", []string{"-c", "echo token hunter22 >&2; exit 3", "--token", "hunter22"}
	})
	got := d.Try(t.Context(), &c, "", nil)
	shown := got.Command + got.Reason + logText(got)
	assert.True(t, !strings.Contains(shown, "hunter22") && strings.Count(shown, "[redacted]") >= 2, shown)
}
