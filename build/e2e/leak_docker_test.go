//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serverImage builds an image that contains only a test server, so that no registry is needed.
func serverImage(t testing.TB) (name string) {
	t.Helper()
	if out, err := exec.Command("docker", "info").CombinedOutput(); err != nil {
		require.NotEqualf(t, "true", os.Getenv("CI"), "no Docker Engine answers, and CI is set: %v", err)
		t.Skipf("no Docker Engine answers: %v %s", err, tail(string(out)))
	}
	program := smallServer(t)
	src, err := os.ReadFile(program)
	require.NoError(t, err)
	name = fmt.Sprintf("drawbridge-leak-%d", os.Getpid())
	importImage(t, name, map[string][]byte{"server": src})
	t.Cleanup(func() {
		for _, id := range containersOf(t, name) {
			exec.Command("docker", "rm", "-f", id).Run()
		}
	})
	return name
}

// containersOf lists the containers of an image, including stopped ones.
func containersOf(t testing.TB, image string) []string {
	t.Helper()
	return strings.Fields(run(t, exec.Command("docker", "ps", "--all", "--quiet", "--filter", "ancestor="+image), 0))
}

// The most common way to run a server in a container, docker run as the command, leaves the
// container behind if the server ignores the end of its input. One container has --rm, one does
// not, and one has a terminal.
func TestDockerRunContainersNeverOutliveServer(t *testing.T) {
	t.Parallel()
	image := serverImage(t)
	servers := object{}
	for name, options := range map[string][]string{"stays": {"-i", "--rm"}, "kept": {"-i"}, "tty": {"-it", "--rm", "--name", image + "-named"}} {
		args := slices.Concat([]string{"run", "--network", "none"}, options, []string{"-e", mcptest.Env, image, "/server", "stubborn"})
		servers[name] = object{"command": "docker", "args": args}
	}
	ids := []string{"stays", "kept", "tty"}
	l := newLab(t)
	gone := func(began time.Time) time.Duration {
		t.Helper()
		eventually.Complete(t, limit(10*time.Second), func() string {
			if left := containersOf(t, image); len(left) > 0 {
				return fmt.Sprintf("containers left behind: %v", left)
			}
			return ""
		})
		return time.Since(began)
	}
	living := func() (daemon int, family []process) {
		t.Helper()
		l.shapes = nil
		daemon, _ = l.waitForAllTrees()
		l.running(ids...)
		require.Len(t, containersOf(t, image), len(ids))
		for _, id := range ids {
			code, body := l.do("POST", "/api/v1/call", strings.NewReader(`{"server":"`+id+`","tool":"echo","arguments":{"here":"`+id+`"}}`))
			require.Equalf(t, 200, code, "server %s", id)
			require.Containsf(t, body, `"success":true`, "server %s", id)
		}
		return daemon, descendants(l.cmd.Process.Pid)
	}
	begin := func() {
		t.Helper()
		l.shapes = nil
		l.beginWith(servers)
	}

	begin()
	living()
	labels := run(t, exec.Command("docker", "ps", "--filter", "ancestor="+image, "--format", `{{.Label "drawbridge.server"}}`), 0)
	for _, id := range ids {
		assert.Contains(t, labels, id, "no container says that it is of server")
	}
	// After a restart the name of the container is free.
	before := l.hostile("tty")
	code, body := l.do("POST", "/api/v1/servers/tty/restart", strings.NewReader("{}"))
	require.Equal(t, 200, code, body)
	eventually.Complete(t, limit(10*time.Second), func() string {
		if is := l.hostile("tty"); is.PID == before.PID || is.State != "running" {
			return fmt.Sprintf("not restarted: %+v", is)
		}
		return ""
	})
	daemon, _ := living()

	began := time.Now()
	syscall.Kill(daemon, syscall.SIGKILL)
	killed := gone(began)
	<-l.done

	begin()
	daemon, family := living()
	l.cmd.Process.Signal(syscall.SIGSTOP)
	syscall.Kill(daemon, syscall.SIGKILL)
	l.cmd.Process.Kill()
	<-l.done
	eventually.Complete(t, limit(2*time.Second), func() string { return alive(family) })
	require.Len(t, containersOf(t, image), len(ids))
	servers = object{}
	began = time.Now()
	begin()
	swept := gone(began)
	l.waitForAllTrees()
	l.stop()

	servers = object{"stays": object{"command": "docker", "args": []string{"run", "-i", "--network", "none", image, "/server", "stubborn"}}}
	ids = []string{"stays"}
	begin()
	living()
	began = time.Now()
	l.stop()
	left := containersOf(t, image)
	assert.Truef(t, len(left) <= 0, "after a stop: %v", left)
	t.Logf("0 containers left after a kill of the daemon: %s; of both, then a start: %s; a stop took %s",
		killed.Round(time.Millisecond), swept.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}
