package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
)

// Which remedy belongs to which error; that every failed start has one is tested by build/faults.
func TestFailedStartNamesFileAndRemedy(t *testing.T) {
	for want, err := range map[string]error{
		"limit of open files": &fs.PathError{Op: "open", Path: "/d/admin.token", Err: syscall.EMFILE},
		"disk space":          fmt.Errorf("x: %w", &os.LinkError{Op: "rename", Old: "/d/a", New: "/d/b", Err: syscall.ENOSPC}),
		"writable":            &fs.PathError{Op: "lock", Path: "/d/lock", Err: os.NewSyscallError("flock", syscall.EACCES)},
		"--data":              errors.Join(&fs.PathError{Op: "read", Path: "/d/tokens.json", Err: syscall.EIO}, errors.New("another error")),
	} {
		ours, ok := errors.AsType[*core.Error](withRemedy(err))
		if assert.Truef(t, ok, "%v", err) {
			assert.Contains(t, ours.Message, "/d/")
			assert.Contains(t, ours.Hint, want)
		}
	}
	own := core.Errorf(core.CodeConflict, "explained already")
	assert.Same(t, own, withRemedy(own))
}
