package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A process that continuously replaces itself by a child is found even if making a list of all
// processes takes longer than its lifetime.
func TestScanFindsForkBombAmongThousands(t *testing.T) {
	for range 1000 { // zombies, which are in every list
		dead, err := os.StartProcess("/bin/true", nil, &os.ProcAttr{})
		require.NoError(t, err)
		t.Cleanup(func() { dead.Wait() })
	}
	life := 50 * time.Millisecond
	for range 2 { // on a busy machine a list takes seconds
		began := time.Now()
		listProcesses()
		life = max(life, time.Since(began))
	}
	reborn := startForkingProcess(t, "REBORN", t.TempDir(), life)
	const looks = 12
	missed := 0
	var took time.Duration
	for range looks {
		began := time.Now()
		all := listProcesses()
		took += time.Since(began)
		if len(reborn(all)) == 0 {
			missed++
		}
	}
	t.Logf("%d of %d looks missed it; it lived for %s, a look took %s", missed, looks, life, (took / looks).Round(time.Microsecond))
	assert.Truef(t, missed <= looks/2, "%d of %d looks missed a process that is always there", missed, looks)
}

// whileTestRuns is a line of a script that exits if this test's process is gone: a test that is killed
// cannot clean up, and a process that forks all the time would keep half of the machine busy.
func whileTestRuns() string { return fmt.Sprintf("kill -0 %d || exit\n", os.Getpid()) }

// startForkingProcess starts a process that ignores SIGTERM and has a value in its environment.
// After a lifetime it starts its successor and exits, indefinitely. The returned function finds
// it in a process list; it is ended with the test.
func startForkingProcess(t *testing.T, name, value string, life time.Duration) (reborn func([]processInfo) []processInfo) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "reborn.sh")
	text := fmt.Sprintf("trap '' TERM\n%ssleep %f\nsetsid sh \"$1\" \"$1\" &\n", whileTestRuns(), life.Seconds())
	require.NoError(t, os.WriteFile(script, []byte(text), 0o600))
	reborn = func(all []processInfo) (found []processInfo) {
		for _, p := range all {
			if !p.zombie && environVariable(p.pid, name) == value {
				found = append(found, p)
			}
		}
		return found
	}
	first := exec.Command("/bin/sh", script, script)
	first.Env = append(os.Environ(), name+"="+value)
	require.NoError(t, first.Start())
	_ = first.Wait()
	t.Cleanup(func() {
		_ = os.Remove(script) // a successor that the scan misses cannot start another one
		for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
			found := reborn(listProcesses())
			for _, p := range found {
				signalProcess(p, unix.SIGKILL)
			}
			if len(found) == 0 && len(reborn(listProcesses())) == 0 {
				return
			}
		}
		t.Error("the test's own process could not be ended")
	})
	return reborn
}

// A process with our terminal could type commands into the shell from which the daemon was started.
func TestChildHasItsOwnSession(t *testing.T) {
	p, _ := start(t, newTestSpawner(t), "echo", 0)
	if session, err := unix.Getsid(p.PID()); err != nil || session != p.PID() {
		t.Errorf("session %d of process %d, %v", session, p.PID(), err)
	}
}
