//go:build linux

package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReleaseMemoryReleasesOnlyFileBackedPages(t *testing.T) {
	self, err := os.Readlink("/proc/self/exe")
	require.NoError(t, err)
	list := cleanRanges(self)
	require.NotEmpty(t, list, "nothing of the program is clean")
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for _, r := range list {
		found := false
		for line := range strings.Lines(string(maps)) {
			if strings.HasPrefix(line, fmt.Sprintf("%08x-%08x ", r.start, r.end)) {
				found = strings.Contains(line, self) && (strings.Contains(line, " r--p ") || strings.Contains(line, " r-xp "))
			}
		}
		assert.Truef(t, found, "%x-%x is not a read-only part of the program:\n%s", r.start, r.end, maps)
	}
	before := resident(t)
	ReleaseMemory()
	after := resident(t)
	assert.Truef(t, after < before, "%d kB of the program were resident, then %d", before, after)
	assert.Nil(t, cleanRanges("/nonexistent"), "a file that is not mapped has ranges")
}

// resident returns how much of its mapped files this process has in memory, in kB.
func resident(t *testing.T) (kb int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		// A program in a tmpfs, as the test binary may be, counts as shared memory.
		name, value, _ := strings.Cut(line, ":")
		if name == "RssFile" || name == "RssShmem" {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")))
			require.NoError(t, err)
			kb += n
		}
	}
	return kb
}
