package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
)

func TestFailedStartNamesFileAndRemedy(t *testing.T) {
	for err, want := range map[error]string{
		&fs.PathError{Op: "open", Path: "/d/admin.token", Err: syscall.EMFILE}:                                        "limit of open files",
		fmt.Errorf("x: %w", &os.LinkError{Op: "rename", Old: "/d/a", New: "/d/b", Err: syscall.ENOSPC}):               "disk space",
		&fs.PathError{Op: "lock", Path: "/d/lock", Err: os.NewSyscallError("flock", syscall.EACCES)}:                  "writable",
		errors.Join(&fs.PathError{Op: "read", Path: "/d/tokens.json", Err: syscall.EIO}, errors.New("another error")): "--data",
	} {
		ours, ok := errors.AsType[*core.Error](withRemedy(err))
		assert.Truef(t, ok && strings.Contains(ours.Message, "/d/") && strings.Contains(ours.Hint, want), "%v becomes %+v", err, ours)
	}
	own := core.Errorf(core.CodeConflict, "explained already")
	got := withRemedy(own)
	assert.Truef(t, got == error(own), "an explained error becomes %v", got)
}
