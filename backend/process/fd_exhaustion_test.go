//go:build linux

package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// SUP-09: without a free file descriptor a start fails with that reason, leaves no process
// behind, and succeeds again when descriptors are free.
func TestStartWithoutFreeDescriptorsFailsAndRecovers(t *testing.T) {
	s := newTestSpawner(t)
	p, _ := start(t, s, "echo", 0) // starts the thread and the reaper
	_ = p.Stop(t.Context())
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	var was unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	failed := 0
	for extra := range 8 { // fails at every place that needs a descriptor
		few := was
		few.Cur = uint64(len(open) + extra)
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
		p, err := s.Start(Spec{Name: "x", Path: os.Args[0], Env: []string{act + "=exit3", quickExit}})
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was))
		switch {
		case err == nil:
			<-p.Done()
			assert.NoError(t, p.Stop(t.Context()))
		case !errors.Is(err, syscall.EMFILE):
			t.Errorf("with %d more descriptors: %v", extra, err)
		default:
			failed++
		}
	}
	assert.NotEqual(t, 0, failed, "no start ever ran out of descriptors")
	// The reaper closes the descriptor of a process a moment after it has ended.
	eventually.True(t, fmt.Sprintf("at most %d descriptors are open", len(open)+1), func() bool {
		after, err := os.ReadDir("/proc/self/fd")
		return err == nil && len(after) <= len(open)+1
	})
	p, _ = start(t, s, "echo", 0)
	assert.NoError(t, p.Stop(t.Context()))
	require.Empty(t, s.running)
	require.Empty(t, s.ledger.entries)
}
