package upstream

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
)

// A process that exits before it has read a request ends the connection with a failed write.
func TestFailedWriteToExitedServerCountsAsExit(t *testing.T) {
	for _, cause := range []error{syscall.EPIPE, os.ErrClosed} {
		write := &os.PathError{Op: "write", Path: "|1", Err: cause}
		lost := &core.Error{Code: core.CodeUnavailable, Message: "the connection was lost", Cause: fmt.Errorf("cannot write: %w", write)}
		assert.Truef(t, Exited(lost), "%v counts as a lost connection, so the status of the process is not told", cause)
	}
}
