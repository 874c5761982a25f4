//go:build unix

package supervisor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDebugShowsCommandAndFrames(t *testing.T) {
	t.Parallel()
	g := newReal(t)
	g.o.Usage, g.o.LastLines = g.dialer.Usage, g.dialer.LastLines
	folder := t.TempDir()
	g.apply(mode("a", "legacy", func(s *config.Server) { s.Env["TOKEN"], s.Cwd = "hush", folder }))
	st := g.wait("a", core.StateRunning)
	if _, _, err := g.call("a", firstTool(g, "a"), core.Legacy); err != nil {
		t.Fatal(err)
	}
	d, err := g.Debug("a")
	require.NoError(t, err)
	if d.Path != os.Args[0] || d.Dir != folder || d.SearchPath == "" || !slices.Contains(d.Environment, "TOKEN") || !slices.Contains(d.Environment, "PATH") {
		t.Errorf("started: %+v", d)
	}
	require.Len(t, d.Processes, 1)
	require.Equal(t, st.PID, d.Processes[0].PID)
	assert.Truef(t, len(d.Frames) == 5 && strings.Contains(d.Frames[3].Text, "tools/call") && d.Frames[3].Sent && !d.Frames[4].Sent, "frames %+v", d.Frames)
	if !strings.Contains(string(d.Capabilities), "tools") || d.Timings.StartTook <= 0 || d.Timings.Began.IsZero() || d.Timings.ListedAt.IsZero() || d.Timings.LastMessage.IsZero() {
		t.Errorf("said: %s, %+v", d.Capabilities, d.Timings)
	}
	d.Frames, d.Stderr = nil, nil
	text, _ := json.Marshal(d)
	assert.NotContains(t, string(text), "hush", "a value of the environment is shown")
	_, err = g.Debug("nobody")
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err))
}

func TestReasonIsShortAndLogNamesPATHOnce(t *testing.T) {
	t.Setenv("PATH", "/no/such/folder")
	g := newReal(t)
	g.apply(server("a", func(s *config.Server) { s.Command = "no-such-program" }))
	st := g.wait("a", core.StateFailed)
	assert.Equal(t, `executable not found: "no-such-program"`, st.Reason)
	var log []string
	for _, line := range g.dialer.Logs.Tail("a", 0) {
		log = append(log, line.Text)
	}
	all := strings.Join(log, "\n")
	assert.Equal(t, 1, strings.Count(all, "connection failed: executable not found: \"no-such-program\" is not in any folder of the PATH"))
	assert.NotContains(t, all, "executable not found: \"no-such-program\": executable not found")
	if d, err := g.Debug("a"); err != nil || d.SearchPath == "" {
		t.Errorf("debug %+v, %v", d, err)
	}
	_, err := g.For(t.Context(), call("a"))
	require.Error(t, err, "clients are told")
	require.NotContains(t, err.Error(), "/no/such/folder", "clients are told")
}

// script writes a program called name, which is recognized as a launcher.
func script(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	syscall.ForkLock.RLock() // a process started during the write would inherit the open file, which then cannot be executed
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
	return path
}

func TestLauncherDownloadsUntilChildStarts(t *testing.T) {
	t.Parallel()
	g := newReal(t)
	g.o.DownloadingLauncher, g.o.LastLines = g.dialer.DownloadingLauncher, g.dialer.LastLines
	go1 := filepath.Join(t.TempDir(), "go")
	// The shell waits without a child process by reading a pipe that has no writer yet.
	npx := script(t, "npx", `echo "npm warn fetching" >&2; mkfifo "$GATE"; read _ < "$GATE"; "$SERVER" -test.run='^$'; exit 0`)
	g.apply(mode("a", "legacy", func(s *config.Server) {
		s.Command, s.Args = npx, nil
		s.Env["GATE"], s.Env["SERVER"] = go1, os.Args[0]
	}))
	eventually.Complete(t, eventually.Limit, func() string {
		st, _ := g.Status("a")
		if st.Detail == "downloading (npx): npm warn fetching" {
			return ""
		}
		return fmt.Sprintf("%s, detail %q", st.State, st.Detail)
	})
	require.NoError(t, os.WriteFile(go1, []byte("go\n"), 0o600))
	assert.Empty(t, g.wait("a", core.StateRunning).Detail, "running, with detail")
	assert.Empty(t, g.dialer.DownloadingLauncher("a"), "running, and")
}

func TestServerRunsInClientWorkingDirectory(t *testing.T) {
	t.Parallel()
	g := newReal(t)
	g.dialer.DefaultWorkspace = filepath.Join(t.TempDir(), "default-workspace")
	where := script(t, "server", `pwd >&2; exec "$SERVER" -test.run='^$'`)
	g.apply(mode("a", "legacy", func(s *config.Server) {
		s.Command, s.Args, s.Cwd, s.Env["SERVER"] = where, nil, "${"+config.WorkspaceFolder+"}", os.Args[0]
		s.Session, s.IdleStop = config.SessionPerRoot, time.Minute
	}))
	g.wait("a", core.StateRunning)
	work := t.TempDir()
	c := call("a")
	c.Workspace = work
	_, err := g.For(t.Context(), c)
	require.NoError(t, err)
	eventually.Complete(t, eventually.Limit, func() string {
		lines := g.dialer.LastLines("a", 5, time.Time{})
		if slices.Equal(lines, []string{g.dialer.DefaultWorkspace, work}) {
			return ""
		}
		return fmt.Sprintf("started in %q", lines)
	})
	c.Workspace = filepath.Join(work, "gone")
	_, err = g.For(t.Context(), c)
	assert.Truef(t, core.CodeOf(err) == core.CodeUnavailable && strings.Contains(err.Error(), "is not a folder on this machine"), "got %v", err)
	_ = os.RemoveAll(g.dialer.DefaultWorkspace)
}

func TestHangingStartShowsWhatHangs(t *testing.T) {
	t.Parallel()
	g := newReal(t)
	g.apply(mode("a", "silent"))
	eventually.Complete(t, eventually.Limit, func() string {
		d, err := g.Debug("a")
		require.NoError(t, err)
		if d.Status.State == core.StateStarting && d.Status.PID > 0 && d.Path == os.Args[0] && len(d.Frames) == 1 && strings.Contains(d.Frames[0].Text, `"initialize"`) {
			return ""
		}
		return fmt.Sprintf("got %+v", d)
	})
}
