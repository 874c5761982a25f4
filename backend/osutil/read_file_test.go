package osutil

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Windows lets a file be removed while it is open only if those who have it open allow it.
func TestFileCanBeRemovedWhileItIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	f, err := openShared(path)
	require.NoError(t, err)
	defer f.Close()
	assert.NoError(t, os.Remove(path))
}
