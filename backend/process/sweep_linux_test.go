package process

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What starts its successor and ends may be missed by each look at all processes, on a
// crowded machine for ever. The sweep ends it without any look.
func TestSweepEndsWhatEveryLookMisses(t *testing.T) {
	t.Parallel()
	instance := strings.ReplaceAll(filepath.ToSlash(t.TempDir()), "/", "-")
	reborn := bear(t, MarkVariable, instance+"/earlier/reborn", 50*time.Millisecond)
	eventually(t, time.Minute, "something is reborn", func() bool { return len(reborn(scan())) > 0 })
	blind := func() (all []info) { // sees everything else
		for _, p := range scan() {
			if !strings.HasPrefix(variable(p.pid, MarkVariable), instance+"/") {
				all = append(all, p)
			}
		}
		return all
	}
	sweepBy(blind, instance, "this", nil)
	for range 20 {
		if left := reborn(scan()); len(left) > 0 {
			t.Fatalf("%d are left", len(left))
		}
		<-time.After(5 * time.Millisecond)
	}
}
