package osutil

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Windows lets a file be removed while it is open only if those who have it open allow it.
func TestFileCanBeRemovedWhileItIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	assert.NoError(t, os.Remove(path))
}

func TestFileIsReadWhileItIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, WriteFileWithoutSync(path, []byte("x"), 0o600))
	var replacing sync.WaitGroup
	replacing.Go(func() {
		for range 200 {
			assert.NoError(t, WriteFileWithoutSync(path, []byte("x"), 0o600))
		}
	})
	for range 200 {
		text, err := ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "x", string(text))
		f, err := Open(path)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	replacing.Wait()
}
