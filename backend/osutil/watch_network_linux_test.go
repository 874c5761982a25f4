package osutil

import (
	"context"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
)

// The kernel reports a new address. The test uses a separate network namespace.
func TestKernelReportsNewAddress(t *testing.T) {
	news, done := make(chan struct{}, 1), make(chan string, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its namespace
		if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
			done <- "no network of its own can be made here: " + err.Error()
			return
		}
		assert.NoError(t, subscribe(ctx, news))
		if err := exec.Command("ip", "addr", "add", "192.0.2.77/32", "dev", "lo").Run(); err != nil {
			done <- "no address can be added here: " + err.Error()
			return
		}
		done <- ""
	}()
	if skip := <-done; skip != "" {
		t.Skip(skip)
	}
	eventually.Receive(t, 5*time.Second, "not told within 5 s", news)
}
