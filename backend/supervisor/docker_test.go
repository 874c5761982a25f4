//go:build linux

package supervisor

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docker runs the docker command and returns its output.
func docker(t *testing.T, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("docker", args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	require.NoErrorf(t, err, "%v %v", strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}

// engineMissing returns why tests cannot use containers: there is no Engine, or no static busybox
// for their images. It returns "" if they can.
var engineMissing = sync.OnceValue(func() error {
	if _, err := exec.LookPath("busybox"); err != nil {
		return err
	}
	return exec.Command("docker", "version").Run()
})

// imageContent returns a file system with a shell and a test server as a tar archive.
var imageContent = sync.OnceValues(func() ([]byte, error) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "mcpserver")
	build := exec.Command("go", "build", "-o", program, "github.com/drawbridge-mcp/drawbridge/backend/mcptest/mcpserver")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	var root bytes.Buffer
	w := tar.NewWriter(&root)
	for name, file := range map[string]string{"bin/sh": busybox, "bin/sleep": busybox, "mcpserver": program} {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	return root.Bytes(), w.Close()
})

// stoppedContainer creates a container with a test server but does not start it. Without an
// Engine the test is skipped, except in CI, where it fails.
func stoppedContainer(t *testing.T) string {
	t.Helper()
	if err := engineMissing(); err != nil {
		require.Emptyf(t, os.Getenv("CI"), "no Docker Engine or no static busybox, and CI is set: %v", err)
		t.Skipf("no Docker Engine or no static busybox: %v", err)
	}
	root, err := imageContent()
	require.NoError(t, err)
	image := docker(t, root, "import", "-")
	t.Cleanup(func() { docker(t, nil, "image", "rm", "-f", image) })
	id := docker(t, nil, "create", "--network", "none", "--label", "drawbridge.test="+rand.Text(), image, "/bin/sleep", "3600")
	t.Cleanup(func() { docker(t, nil, "rm", "-f", id) })
	return id
}

// Repeated restarts of a container are not failures of its server, which is started again as soon
// as the container runs.
func TestRestartedContainerIsEnteredImmediately(t *testing.T) {
	t.Parallel()
	container := stoppedContainer(t)
	docker(t, nil, "start", container)
	g := newReal(t)
	g.apply(server("box", func(s *config.Server) {
		s.Type, s.Command, s.Args, s.Docker = core.Docker, "/mcpserver", []string{"legacy"}, config.Docker{Container: container}
		s.Restart.MaxAttempts, s.StartupTimeout = 3, 30*time.Second
	}))
	g.wait("box", core.StateRunning)
	for range 4 { // more often than maxAttempts
		starts := statusOf(g, "box").Restarts
		docker(t, nil, "restart", "-t", "0", container)
		begin := time.Now()
		eventually.True(t, "the server runs again", func() bool {
			st := statusOf(g, "box")
			require.NotEqual(t, core.StateFailed, st.State)
			return st.State == core.StateRunning && st.Restarts > starts
		})
		if took := time.Since(begin); took > 25*time.Second { // five times the promise
			t.Errorf("back only after %s", took)
		}
		_, _, err := g.call("box", firstTool(g, "box"), core.Legacy)
		assert.NoError(t, err)
	}
}

func TestContainerEndingDuringHandshakeIsNotAFailure(t *testing.T) {
	t.Parallel()
	container := stoppedContainer(t)
	docker(t, nil, "start", container)
	g := newReal(t)
	g.apply(server("box", func(s *config.Server) {
		s.Type, s.Command, s.Args, s.Docker = core.Docker, "/bin/sleep", []string{"1000"}, config.Docker{Container: container} // never answers
		s.Restart.MaxAttempts, s.StartupTimeout = 1, 2*time.Minute
	}))
	eventually.True(t, "the process runs", func() bool {
		return strings.Contains(docker(t, nil, "top", container, "-o", "pid,args"), "sleep 1000")
	})
	docker(t, nil, "kill", container)
	assert.Contains(t, g.wait("box", core.StateWaiting).Reason, "not running")
}

func statusOf(g *real, id string) core.ServerStatus {
	st, _ := g.Status(id)
	return st
}

// Each call has its own process in the container, and no process remains.
func TestPerCallServerRunsEachCallInNewProcess(t *testing.T) {
	t.Parallel()
	container := stoppedContainer(t)
	docker(t, nil, "start", container)
	inside := func() int {
		return strings.Count(docker(t, nil, "top", container, "-o", "pid,args"), "/mcpserver")
	}
	g := newReal(t)
	g.apply(server("box", func(s *config.Server) {
		s.Type, s.Command, s.Args, s.Docker = core.Docker, "/mcpserver", []string{"legacy"}, config.Docker{Container: container}
		s.Session, s.IdleStop, s.StartupTimeout = config.SessionPerCall, time.Second, 30*time.Second
	}))
	g.wait("box", core.StateRunning)
	tool := firstTool(g, "box")
	assert.NotEqual(t, 0, g.wait("box", core.StateStopped).Tools)
	seen := map[string]bool{}
	for range 3 {
		call, _, err := g.call("box", tool, core.Legacy)
		require.NoError(t, err)
		seen[call.Instance] = true
		assert.Equal(t, 0, inside())
	}
	assert.Len(t, seen, 3, "three calls were served")
	docker(t, nil, "kill", container)
	_, _, err := g.call("box", tool, core.Legacy)
	assert.True(t, core.CodeOf(err) == core.CodeUnavailable && strings.Contains(err.Error(), "not running"), err)
}
