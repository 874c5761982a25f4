package dial

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
)

// A retry helps only if the machine was short of a resource. Otherwise the error says what to
// correct.
func TestOnlyRecoverableStartsAreRetried(t *testing.T) {
	for _, err := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM} {
		said := startError("/bin/x", fmt.Errorf("cannot start /bin/x: %w", os.NewSyscallError("fork/exec", err)))
		if core.CodeOf(said) != core.CodeUnavailable {
			t.Errorf("%v is final", err)
		}
	}
	for _, err := range []error{process.ErrNotFound, process.ErrNotExecutable, syscall.ENOTDIR} {
		said := startError("x", fmt.Errorf("cannot start x: %w", err))
		if _, hint := core.Describe(said); core.CodeOf(said) != core.CodeValidation || hint == "" {
			t.Errorf("%v is tried again, or has no hint: %q", err, hint)
		}
	}
}
