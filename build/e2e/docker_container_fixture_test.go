//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// containers numbers the containers of this process, so that each test has its own.
var containers atomic.Int32

// container runs a container that contains only our own program, so that no registry is needed.
func container(t testing.TB) (name string) {
	t.Helper()
	if out, err := exec.Command("docker", "info").CombinedOutput(); err != nil {
		t.Skipf("no Docker Engine answers: %v %s", err, tail(string(out)))
	}
	program, err := os.ReadFile(binary)
	require.NoError(t, err)
	name = fmt.Sprintf("drawbridge-e2e-%d-%d", os.Getpid(), containers.Add(1))
	importImage(t, name, map[string][]byte{"drawbridge": program})
	run(t, exec.Command("docker", "run", "--detach", "--interactive", "--network", "none", "--name", name, name, "/drawbridge", "demo-server"), 0)
	t.Cleanup(func() { exec.Command("docker", "rm", "-f", name).Run() })
	return name
}

// importImage makes an image of programs by their paths. The image is removed at the end.
func importImage(t testing.TB, name string, programs map[string][]byte, options ...string) {
	t.Helper()
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	for path, program := range programs {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: path, Mode: 0o755, Size: int64(len(program))}))
		_, err := w.Write(program)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	load := exec.Command("docker", append(append([]string{"import"}, options...), "-", name)...)
	load.Stdin = &image
	run(t, load, 0)
	t.Cleanup(func() { exec.Command("docker", "rmi", "-f", name).Run() })
}

// countContainerProcesses counts the processes in the container; its own first process is always
// included.
func countContainerProcesses(t testing.TB, name string) int {
	t.Helper()
	out := strings.TrimSpace(run(t, exec.Command("docker", "top", name, "-o", "pid"), 0))
	return strings.Count(out, "\n")
}
