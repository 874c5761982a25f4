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
		if left := reborn(listProcesses()); len(left) > 0 {
			t.Fatalf("%d are left", len(left))
		}
		<-time.After(5 * time.Millisecond)
	}
}

// TestEndOrphansSparesReusedGroupID: the leader of the group has exited, and only the reused id
// suggests that the process could be ours.
func TestEndOrphansSparesReusedGroupID(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leader := exec.Command("/bin/sh", "-c", `"$0" & exit`, os.Args[0])
	leader.Env = []string{act + "=deaf", "READY=" + dir, quickExit}
	leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	began, _ := readProcess(leader.Process.Pid)
	_ = leader.Wait()
	awaitReady(dir, 1)
	t.Cleanup(func() { _ = syscall.Kill(-leader.Process.Pid, syscall.SIGKILL) })
	path := filepath.Join(t.TempDir(), "ledger.json")
	src := fmt.Sprintf(`{"boot":%q,"processes":[{"pid":%d,"start":%d,"name":"x","mark":"y"}]}`, bootID(), leader.Process.Pid, began.start)
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	sweeper := exec.Command(os.Args[0])
	sweeper.Env = append(os.Environ(), act+"=sweep", "LEDGER="+path, quickExit)
	if out, err := sweeper.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "[] <nil>" {
		t.Errorf("%v: swept %s", err, out)
	}
	if len(pidsIn(dir)) != 1 {
		t.Error("it was ended")
	}
}
