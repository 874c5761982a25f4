//go:build unix

package config

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A pipe or a device in place of a file is not opened, because reading it might block forever
// with the lock held.
func TestPipeOrDeviceIsRefused(t *testing.T) {
	t.Parallel()
	x := run(t, one)
	os.Remove(x.file)
	require.NoError(t, syscall.Mkfifo(x.file, 0o600))
	x.expectRefused("a pipe", "it is a pipe or a device", "a=a")
	os.Remove(x.file)
	writeConfig(t, x.file, two)
	x.expect("a file again", "a=a b=b")

	extra := filepath.Join(filepath.Dir(x.file), "conf.d", "10.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(extra), 0o700))
	require.NoError(t, os.Symlink("/dev/zero", extra))
	x.expectRefused("a device among further files", "it is a pipe or a device", "a=a b=b")
	edited := make(chan error, 1)
	go func() { edited <- x.Disable(context.Background(), "a") }()
	select {
	case <-edited: // whether or not it failed
	case <-time.After(20 * time.Second):
		t.Fatal("an edit waits for ever")
	}
}
