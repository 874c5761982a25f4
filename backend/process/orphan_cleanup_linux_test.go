package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A process that starts its successor and exits may be missed by every process list of a crowded
// machine. EndOrphans ends it without a process list.
func TestEndOrphansKillsProcessesMissedByScans(t *testing.T) {
	t.Parallel()
	instance := strings.ReplaceAll(filepath.ToSlash(t.TempDir()), "/", "-")
	reborn := startForkingProcess(t, MarkVariable, instance+"/earlier/reborn", 50*time.Millisecond)
	eventually.True(t, "something is reborn", func() bool { return len(reborn(listProcesses())) > 0 })
	blind := func() (all []processInfo) { // lists all other processes
		for _, p := range listProcesses() {
			if !strings.HasPrefix(environVariable(p.pid, MarkVariable), instance+"/") {
				all = append(all, p)
			}
		}
		return all
	}
	endOrphansFrom(blind, instance, "this", nil)
	for range 20 {
		left := reborn(listProcesses())
		require.Truef(t, len(left) <= 0, "%d are left", len(left))
		<-time.After(5 * time.Millisecond)
	}
}

// TestEndOrphansSparesReusedGroupID: the leader of the group has exited, and only the reused id
// suggests that the process could be ours.
func TestEndOrphansSparesReusedGroupID(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leader := exec.Command("/bin/sh", "-c", `"$0" & exit`, os.Args[0])
	leader.Env = []string{act + "=unkillable", "READY=" + dir, quickExit}
	leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, leader.Start())
	began, _ := readProcess(leader.Process.Pid)
	_ = leader.Wait()
	awaitReady(dir, 1)
	t.Cleanup(func() { _ = syscall.Kill(-leader.Process.Pid, syscall.SIGKILL) })
	path := filepath.Join(t.TempDir(), "ledger.json")
	src := fmt.Sprintf(`{"boot":%q,"processes":[{"pid":%d,"start":%d,"name":"x","mark":"y"}]}`, bootID(), leader.Process.Pid, began.start)
	require.NoError(t, os.WriteFile(path, []byte(src), 0o600))
	sweeper := exec.Command(os.Args[0])
	sweeper.Env = append(os.Environ(), act+"=sweep", "LEDGER="+path, quickExit)
	out, err := sweeper.CombinedOutput()
	assert.Truef(t, err == nil && strings.TrimSpace(string(out)) == "[] <nil>", "%v: swept %s", err, out)
	assert.Len(t, pidsIn(dir), 1, "it was ended")
}

func TestEndOrphansKillsLeftoversOfDaemonAndWatchdog(t *testing.T) {
	t.Parallel()
	s := startStage(t, "sh>sh>unkillable,sh>setsid>unkillable,stay>fork>unkillable", 3+3+2)
	// Both are stopped first, so that neither can react to the exit of the other.
	_ = syscall.Kill(s.daemon, syscall.SIGSTOP)
	_ = s.watchdog.Process.Kill()
	_ = syscall.Kill(s.daemon, syscall.SIGKILL)
	eventually.TrueWithin(t, 30*time.Second, "daemon gone", func() bool {
		p, ok := readProcess(s.daemon)
		return !ok || p.zombie
	})
	if len(s.alive()) == 0 {
		t.Skip("nothing was left behind")
	}
	// Processes of another installation on this machine must not be ended.
	other, dir := start(t, newTestSpawner(t), "sh>unkillable", 2)

	// Processes of an earlier run are older than the daemon that ends them, as those of this test
	// are older than a new process.
	sweeper := exec.Command(os.Args[0])
	sweeper.Env = append(os.Environ(), act+"=sweep", "LEDGER="+filepath.Join(s.dir, "ledger.json"), quickExit)
	out, err := sweeper.CombinedOutput()
	require.NoError(t, err, out)
	alive := s.alive()
	assert.Truef(t, len(alive) <= 0, "left: %v\n%s", alive, out)
	assert.Contains(t, string(out), "s0")
	assert.Contains(t, string(out), "s2")
	assert.Len(t, pidsIn(dir), 2, "another daemon lost its server")
	_ = other.Stop(t.Context())
}

// A pid in the ledger may have been reused: a process with another start time must not be ended.
func TestEndOrphansSparesReusedPID(t *testing.T) {
	dir := t.TempDir()
	stranger := selfCommand("unkillable")
	stranger.Env = append(withoutVariables(stranger.Env, "READY"), "READY="+dir, quickExit)
	require.NoError(t, stranger.Start())
	t.Cleanup(func() {
		_ = stranger.Process.Kill()
		_ = stranger.Wait()
	})
	awaitReady(dir, 1)
	p, ok := readProcess(stranger.Process.Pid)
	require.True(t, ok, "it does not run")
	path := filepath.Join(t.TempDir(), "ledger.json")
	src := fmt.Sprintf(`{"boot":%q,"processes":[{"pid":%d,"start":%d,"name":"x","mark":"y"}]}`, bootID(), p.pid, p.start-1)
	require.NoError(t, os.WriteFile(path, []byte(src), 0o600))
	swept, err := NewSpawner(Options{Ledger: path}).EndOrphans()
	assert.Truef(t, err == nil && len(swept) == 0, "swept %v, %v", swept, err)
	if now, ok := readProcess(p.pid); !ok || now.zombie {
		t.Error("it was ended")
	}
}

func TestLedgerOfPreviousBootIsIgnored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"boot":"another","processes":[{"pid":1,"start":1,"name":"x","mark":"y"}]}`), 0o600))
	entries, err := (&ledger{path: path}).readEarlier()
	assert.Truef(t, err == nil && len(entries) == 0, "%v, %v", entries, err)
}

func TestEndOrphansSurvivesCorruptLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"boot":`), 0o600))
	s := NewSpawner(Options{Ledger: path})
	_, err := s.EndOrphans()
	assert.Error(t, err, "a broken ledger is not told")
	swept, err := s.EndOrphans()
	assert.Truef(t, err == nil && len(swept) == 0, "the second time: %v, %v", swept, err)
}
