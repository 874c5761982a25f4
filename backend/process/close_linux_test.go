package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCloseEndsWhatForksItselfAgainAndAgain, though each look at the processes may miss it.
func TestCloseEndsWhatForksItselfAgainAndAgain(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "reborn.sh")
	if err := os.WriteFile(script, []byte("trap '' TERM\nsetsid sh \"$1\" \"$1\" &\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewSpawner(Options{})
	first, err := s.Start(Spec{Name: "reborn", Path: "/bin/sh", Args: []string{script, script}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	left := func() (pids []int) {
		for _, p := range offspring() {
			if !p.zombie && p.pid != first.PID() && strings.HasPrefix(variable(p.pid, MarkVariable), s.instance+"/") {
				pids = append(pids, p.pid)
			}
		}
		return pids
	}
	eventually(t, time.Minute, "something is reborn", func() bool { return len(left()) > 0 })
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for range 50 {
		if pids := left(); len(pids) > 0 {
			t.Fatalf("processes %v are left", pids)
		}
	}
}
