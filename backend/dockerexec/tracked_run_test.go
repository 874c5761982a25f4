//go:build linux

package dockerexec

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDockerRunIsRecognizedAndLosesTTY(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command, args, want string // want omits what is added after "run"
		terminal            bool
	}{
		{"docker", "run -i --rm mcp/fetch", "run -i --rm mcp/fetch", false},
		{"/usr/bin/docker", "run -it --rm img cmd -t", "run -i --rm img cmd -t", true},
		{"docker", "run -ti img", "run -i img", true},
		{"docker", "run -t -i img", "run -i img", true},
		{"docker", "run --tty --interactive img", "run --interactive img", true},
		{"docker", "run --tty=false -i img", "run -i img", false},
		{"docker", "run -t=false -i img", "run -i img", false},
		{"docker", "run -itv /a:/t img -t", "run -iv /a:/t img -t", true},
		{"docker", "run -eterm=t -i img", "run -eterm=t -i img", false},
		{"docker", "run -e -t -i img", "run -e -t -i img", false}, // -t is the value of -e
		{"docker", "run --name -t -i img", "run --name -t -i img", false},
		{"docker", "run --network=host -i -- img -t", "run --network=host -i -- img -t", false},
		{"docker", "--context far run -i img", "--context far run -i img", false},
		{"docker", "-Hunix:///s -D container run -i img", "-Hunix:///s -D container run -i img", false},
		{"DOCKER.EXE", "run -i img", "run -i img", false},
		{"docker", "exec -i box cat", "", false},
		{"docker", "-v", "", false},
		{"docker", "", "", false},
		{"docker", "run", "run", false},
		{"docker", "run -i -e", "run -i -e", false},
		{"sudo", "docker run -i img", "", false},
		{"docker-mcp", "run -i img", "", false},
	} {
		r, ok := TrackRun("files", c.command, strings.Fields(c.args), nil, "")
		if !ok {
			assert.Emptyf(t, c.want, "%s %s is not recognized", c.command, c.args)
			continue
		}
		at := slices.Index(r.Args, "--label")
		if at < 1 || r.Args[at-1] != "run" || r.Args[at+1] != "drawbridge.server=files" || r.Args[at+2] != "--label" {
			t.Errorf("%s: %q", c.args, r.Args)
			continue
		}
		if got := strings.Join(slices.Delete(slices.Clone(r.Args), at, at+4), " "); got != c.want || r.NoTerminal != c.terminal {
			t.Errorf("%s: %q, %v", c.args, got, r.NoTerminal)
		}
	}
}

func TestUserCidfileIsKept(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]int{"run -i img": 1, "run --cidfile /x -i img": 1, "run --cidfile=/x -i img": 1} {
		r, ok := TrackRun("a", "docker", strings.Fields(args), nil, t.TempDir())
		assert.Truef(t, ok && strings.Count(strings.Join(r.Args, " "), "--cidfile") == want, "%s: %v", args, r)
	}
}

func TestLedgerContainsNoSecret(t *testing.T) {
	t.Parallel()
	ledger := t.TempDir()
	r, _ := TrackRun("a", "docker", []string{"run", "-i", "-e", "TOKEN", "img"}, []string{"TOKEN=hush", "DOCKER_HOST=unix:///x", "DOCKER_AUTH_CONFIG=hush", "PATH=/bin"}, ledger)
	require.NoError(t, r.AddToLedger())
	text, err := os.ReadFile(r.at.path(ledger))
	require.Truef(t, err == nil && !strings.Contains(string(text), "hush") && strings.Contains(string(text), "DOCKER_HOST=unix:///x"), "%s %v", text, err)
}

// ignoresTERM is a program that ignores end of input and, as process 1 of its container, SIGTERM.
const ignoresTERM = "while :; do /bin/sleep 1; done"

// startDockerRun starts docker run and waits until its container runs.
func startDockerRun(t *testing.T, ledger string, options []string, program ...string) (r *TrackedRun, cmd *exec.Cmd, stdin io.WriteCloser, stdout *bufio.Reader) {
	t.Helper()
	needEngine(t)
	docker, err := exec.LookPath("docker")
	if err != nil {
		t.Skip(err)
	}
	args := slices.Concat([]string{"run", "--network", "none"}, options, []string{shellImage}, program)
	r, ok := TrackRun("box", docker, args, os.Environ(), ledger)
	require.True(t, ok, "not recognized")
	require.NoError(t, r.AddToLedger())
	cmd = exec.Command(docker, r.Args...)
	stdin, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if _, err := r.at.remove(ctx); err != nil {
			t.Error(err)
		}
	})
	eventually.TrueWithin(t, 20*time.Second, "the container runs", func() bool { return running(t, r) == 1 })
	return r, cmd, stdin, bufio.NewReader(out)
}

// running returns the number of running containers of a run.
func running(t *testing.T, r *TrackedRun) int {
	t.Helper()
	out, err := r.at.docker(context.Background(), "ps", "-q", "--filter", "label="+runLabel+"="+r.at.Mark)
	require.NoError(t, err)
	return len(strings.Fields(out))
}

// remaining returns the containers and files that remain of a run.
func remaining(t *testing.T, r *TrackedRun, ledger string) string {
	t.Helper()
	out, err := r.at.docker(context.Background(), "ps", "-aq", "--filter", "label="+runLabel+"="+r.at.Mark)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(ledger, "*"))
	require.NoError(t, err)
	return strings.TrimSpace(out + " " + strings.Join(files, " "))
}

func TestKilledDockerRunContainerIsRemoved(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]string{"rm": {"-i", "--rm"}, "kept": {"-i"}} {
		t.Run(name, func(t *testing.T) {
			ledger := t.TempDir()
			r, cmd, _, _ := startDockerRun(t, ledger, options, "/bin/sh", "-c", ignoresTERM)
			_ = cmd.Process.Signal(syscall.SIGKILL)
			_ = cmd.Wait()
			if running(t, r) != 1 {
				t.Skip("this Engine ends the container by itself")
			}
			begun := time.Now()
			require.NoError(t, r.Remove(t.Context()))
			t.Logf("removed in %s", time.Since(begun).Round(time.Millisecond))
			assert.Empty(t, remaining(t, r, ledger))
			if err := r.Remove(t.Context()); err != nil { // Remove is idempotent
				t.Error(err)
			}
		})
	}
}

func TestEndOrphansRemovesContainersOfEarlierRun(t *testing.T) {
	t.Parallel()
	ledger := t.TempDir()
	r, cmd, _, _ := startDockerRun(t, ledger, []string{"-i", "--rm"}, "/bin/sh", "-c", ignoresTERM)
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	n, err := EndOrphans(t.Context(), ledger)
	require.Truef(t, n == 1 && err == nil, "%d, %v", n, err)
	assert.Empty(t, remaining(t, r, ledger))
	n, err = EndOrphans(t.Context(), ledger)
	assert.Truef(t, n == 0 && err == nil, "the second time: %d, %v", n, err)
}

func TestTornLedgerIsDiscarded(t *testing.T) {
	t.Parallel()
	ledger := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(ledger, "x"+runSuffix), []byte(`{"command":"/bi`), 0o600))
	n, err := EndOrphans(t.Context(), ledger)
	assert.Truef(t, n == 0 && err == nil, "%d, %v", n, err)
	files, _ := os.ReadDir(ledger)
	assert.Empty(t, files)
}

func TestEndOrphansKeepsLedgerWhileEngineIsDown(t *testing.T) {
	t.Parallel()
	docker, err := exec.LookPath("docker")
	if err != nil {
		t.Skip(err)
	}
	ledger := t.TempDir()
	r, _ := TrackRun("a", docker, []string{"--host", "unix://" + filepath.Join(ledger, "nobody"), "run", "-i", "img"}, os.Environ(), ledger)
	require.NoError(t, r.AddToLedger())
	_, err = EndOrphans(t.Context(), ledger)
	assert.Error(t, err, "no error")
	_, err = os.Stat(r.at.path(ledger))
	assert.NoError(t, err)
}

func TestMessagesPassDockerRunUnchanged(t *testing.T) {
	t.Parallel()
	_, cmd, stdin, stdout := startDockerRun(t, t.TempDir(), []string{"-it", "--rm"}, "/bin/cat")
	_, err := io.WriteString(stdin, "{\"a\":1}\n")
	require.NoError(t, err)
	line, err := stdout.ReadString('\n')
	require.Equal(t, "{\"a\":1}\n", line, err)
	_ = stdin.Close()
	assert.NoError(t, cmd.Wait())
}
