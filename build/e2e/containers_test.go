//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shellImage builds an image with a test server and a static busybox as its shell, so that no
// registry is needed. docker runs commands against an Engine.
func shellImage(t testing.TB, docker func(args ...string) *exec.Cmd) (name string) {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err == nil {
		err = docker("info").Run()
	}
	if err != nil {
		require.NotEqualf(t, "true", os.Getenv("CI"), "no Docker Engine or no static busybox, and CI is set: %v", err)
		t.Skipf("no Docker Engine or no static busybox: %v", err)
	}
	program := smallServer(t)
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	for inside, file := range map[string]string{"bin/busybox": busybox, "server": program} {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, w.WriteHeader(&tar.Header{Name: inside, Mode: 0o755, Size: int64(len(src))}))
		_, err = w.Write(src)
		require.NoError(t, err)
	}
	for _, link := range []string{"sh", "grep", "sleep"} {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: "bin/" + link, Typeflag: tar.TypeSymlink, Linkname: "/bin/busybox", Mode: 0o777}))
	}
	require.NoError(t, w.Close())
	name = fmt.Sprintf("drawbridge-boxes-%d-%d", os.Getpid(), time.Now().UnixNano())
	load := docker("import", "-", name)
	load.Stdin = &image
	run(t, load, 0)
	t.Cleanup(func() { docker("rmi", "-f", name).Run() })
	return name
}

func dockerCommand(args ...string) *exec.Cmd { return exec.Command("docker", args...) }

// runIdleContainer runs a container that sleeps.
func runIdleContainer(t testing.TB, docker func(args ...string) *exec.Cmd, image, name string, more ...string) {
	t.Helper()
	args := append([]string{"run", "--detach", "--network", "none", "--name", name}, more...)
	run(t, docker(append(args, image, "/bin/sleep", "3600")...), 0)
	t.Cleanup(func() { docker("rm", "-f", name).Run() })
}

// containerServer returns the entry of a server inside the container called name.
func containerServer(name, mode string) object {
	return object{"type": "docker", "command": "/server", "args": []string{mode}, "docker": object{"container": name}}
}

// echoes calls a server's tool through the API.
func (d *daemon) echoes(id string) string {
	code, body := d.do("POST", "/api/v1/call", strings.NewReader(`{"server":"`+id+`","tool":"echo","arguments":{"here":"`+id+`"}}`))
	if code != 200 || !strings.Contains(body, `"success":true`) {
		return fmt.Sprintf("server %s answers %d %s", id, code, body)
	}
	return ""
}

// Twenty servers run in one container. The test checks which processes remain in it after they are
// stopped, after the daemon is killed, and after the container is recreated.
func TestTwentyServersInOneContainer(t *testing.T) {
	t.Parallel()
	image := shellImage(t, dockerCommand)
	name := image + "-box"
	runIdleContainer(t, dockerCommand, image, name)
	const many = 20
	servers := object{}
	for i := range many {
		servers[fmt.Sprint("s", i)] = containerServer(name, map[bool]string{true: "stubborn", false: "legacy"}[i%2 == 0])
	}
	d := start(t, object{"mcpServers": servers})
	began := time.Now()
	for id := range servers {
		d.running(id)
	}
	t.Logf("%d servers run after %s", many, time.Since(began).Round(time.Millisecond))
	var calls sync.WaitGroup
	for id := range servers {
		calls.Go(func() {
			assert.Empty(t, d.echoes(id))
		})
	}
	calls.Wait()
	assert.Equal(t, many+1, countContainerProcesses(t, name))

	// The daemon is killed: the watchdog ends all of them.
	began = time.Now()
	syscall.Kill(d.process(t), syscall.SIGKILL)
	empty := func() string {
		if n := countContainerProcesses(t, name); n != 1 {
			return fmt.Sprintf("%d processes are left in the container", n)
		}
		return ""
	}
	eventually.Complete(t, limit(10*time.Second), empty)
	t.Logf("0 left %s after a kill of the daemon", time.Since(began).Round(time.Millisecond))
	<-d.done
	os.Remove(filepath.Join(d.data, "runtime.json")) // of the killed daemon

	// A container that is recreated with the same name is used again.
	d.write("config.jsonc", object{"mcpServers": object{"one": containerServer(name, "stubborn")}})
	d.launch()
	d.running("one")
	run(t, dockerCommand("rm", "-f", name), 0)
	eventually.Complete(t, limit(5*time.Second), func() string {
		if is := d.state("one"); is != "waiting" {
			return "the server is " + is
		}
		return ""
	})
	runIdleContainer(t, dockerCommand, image, name)
	began = time.Now()
	eventually.Complete(t, limit(5*time.Second), func() string { return d.echoes("one") })
	t.Logf("entered again %s after the container was made anew", time.Since(began).Round(time.Millisecond))
	d.stop()
	eventually.Complete(t, limit(5*time.Second), empty)
}

func (d *daemon) state(id string) string {
	d.t.Helper()
	var st struct{ State, Reason string }
	d.get("/api/v1/servers/"+id, &st)
	return st.State
}

// An Engine of this test is stopped and started.
func TestDockerEngineRestart(t *testing.T) {
	t.Parallel()
	dockerd, err := exec.LookPath("dockerd")
	if err != nil || os.Getuid() != 0 {
		require.NotEqualf(t, "true", os.Getenv("CI"), "an Engine of its own needs dockerd and root, and CI is set: %v", err)
		t.Skip("an Engine of its own needs dockerd and root")
	}
	dir, err := os.MkdirTemp("", "dbe")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	host := "unix://" + filepath.Join(dir, "s")
	docker := func(args ...string) *exec.Cmd {
		return exec.Command("docker", append([]string{"--host", host}, args...)...)
	}
	var engine *exec.Cmd
	up := func() {
		t.Helper()
		log, err := os.Create(filepath.Join(dir, "log"))
		require.NoError(t, err)
		defer log.Close()
		// In a network of its own: an Engine without a bridge removes the one of the Engine of this
		// machine.
		engine = exec.Command("unshare", "--net", dockerd, "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
			"--pidfile", filepath.Join(dir, "pid"), "--host", host, "--bridge", "none", "--iptables=false", "--ip6tables=false", "--storage-driver", "vfs")
		engine.Stdout, engine.Stderr = log, log
		require.NoError(t, engine.Start())
		eventually.Complete(t, limit(60*time.Second), func() string {
			if out, err := docker("info").CombinedOutput(); err != nil {
				text, _ := os.ReadFile(filepath.Join(dir, "log"))
				return fmt.Sprintf("%v %s\n%s", err, out, tail(string(text)))
			}
			return ""
		})
	}
	down := func() {
		t.Helper()
		engine.Process.Signal(syscall.SIGTERM)
		engine.Wait()
	}
	up()
	t.Cleanup(down)
	image := shellImage(t, docker)
	name := "box"
	runIdleContainer(t, docker, image, name)
	entry := containerServer(name, "legacy")
	entry["docker"] = object{"container": name, "host": host, "start": true}
	made := object{"type": "docker", "command": "/server", "args": []string{"stubborn"}, "docker": object{"image": image, "network": "none", "host": host}}
	d := start(t, object{"mcpServers": object{"box": entry, "made": made}})
	defer d.stop()
	d.running("box")
	d.running("made")
	down()
	for _, id := range []string{"box", "made"} {
		eventually.Complete(t, limit(20*time.Second), func() string {
			if is := d.state(id); is != "waiting" {
				return "without its Engine, server " + id + " is " + is
			}
			return ""
		})
	}
	up()
	began := time.Now()
	for _, id := range []string{"box", "made"} {
		eventually.Complete(t, limit(15*time.Second), func() string { return d.echoes(id) })
	}
	t.Logf("both serve %s after the Engine", time.Since(began).Round(time.Millisecond))
	d.stop()
	left := strings.Fields(run(t, docker("ps", "-aq", "--filter", "label=drawbridge.server"), 0))
	assert.Truef(t, len(left) <= 0, "containers left behind: %v", left)
}

// A server whose command is "docker exec", as the files of clients have it, ignores the end of its
// input. Nothing of it stays in the container after restarts and kills of the daemon.
func TestDockerExecCommandLeavesNothingInContainer(t *testing.T) {
	t.Parallel()
	rounds := rounds(t, 2, 2)
	image := shellImage(t, dockerCommand)
	name := image + "-exec"
	runIdleContainer(t, dockerCommand, image, name)
	d := start(t, object{"mcpServers": object{"cli": object{"command": "docker", "args": []string{"exec", "-it", "-e", "A=b", name, "/server", "stubborn"}}}})
	processes := func(want int) {
		t.Helper()
		eventually.Complete(t, limit(10*time.Second), func() string {
			if n := countContainerProcesses(t, name); n != want {
				return fmt.Sprintf("%d processes are in the container, want %d", n, want)
			}
			return ""
		})
	}
	d.running("cli")
	for range rounds {
		d.cli(0, "restart", "cli")
		d.running("cli")
		processes(2)
	}
	for range rounds {
		syscall.Kill(d.process(t), syscall.SIGKILL)
		<-d.done
		processes(1)
		os.Remove(filepath.Join(d.data, "runtime.json")) // of the killed daemon
		d.launch()
		d.running("cli")
		processes(2)
	}
	d.stop()
	processes(1)
}
