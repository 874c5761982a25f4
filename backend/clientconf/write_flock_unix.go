//go:build unix

package clientconf

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// lockFile acquires the advisory lock (flock) that the client uses as well. It waits until
// ctx is done. The lock file is not removed, because the client expects it.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, os.NewSyscallError("flock", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.Close()
			return nil, &core.Error{
				Code: core.CodeConflict, Retriable: true, Cause: err,
				Message: "the client is currently writing its file",
				Hint:    "Try again, or close the client first.",
			}
		}
	}
}
