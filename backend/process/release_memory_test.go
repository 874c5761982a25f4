//go:build linux

package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestReleaseMemoryReleasesOnlyFileBackedPages(t *testing.T) {
	self, err := os.Readlink("/proc/self/exe")
	must(t, err)
	list := cleanRanges(self)
	if len(list) == 0 {
		t.Fatal("nothing of the program is clean")
	}
	maps, err := os.ReadFile("/proc/self/maps")
	must(t, err)
	for _, r := range list {
		found := false
		for line := range strings.Lines(string(maps)) {
			if strings.HasPrefix(line, fmt.Sprintf("%08x-%08x ", r.start, r.end)) {
				found = strings.Contains(line, self) && (strings.Contains(line, " r--p ") || strings.Contains(line, " r-xp "))
			}
		}
		if !found {
			t.Errorf("%x-%x is not a read-only part of the program:\n%s", r.start, r.end, maps)
		}
	}
	before := resident(t)
	ReleaseMemory()
	if after := resident(t); after >= before {
		t.Errorf("%d kB of the program were resident, then %d", before, after)
	}
	if cleanRanges("/nonexistent") != nil {
		t.Error("a file that is not mapped has ranges")
	}
}

// resident returns how much of its mapped files this process has in memory, in kB.
func resident(t *testing.T) (kb int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	must(t, err)
	for line := range strings.Lines(string(status)) {
		// A program in a tmpfs, as the test binary may be, counts as shared memory.
		name, value, _ := strings.Cut(line, ":")
		if name == "RssFile" || name == "RssShmem" {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")))
			must(t, err)
			kb += n
		}
	}
	return kb
}
