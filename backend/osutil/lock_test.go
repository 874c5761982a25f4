package osutil

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReplaceUnchangedDetectsConcurrentWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, ReplaceUnchangedFile(path, nil, false, []byte("one")))
	for name, try := range map[string]error{
		"a file that is new":     ReplaceUnchangedFile(path, nil, false, []byte("lost")),
		"a file with other text": ReplaceUnchangedFile(path, []byte("zero"), true, []byte("lost")),
		"a file that has gone":   ReplaceUnchangedFile(path+".gone", []byte("one"), true, []byte("lost")),
	} {
		assert.ErrorIs(t, try, ErrChanged, name)
	}
	require.NoError(t, ReplaceUnchangedFile(path, []byte("one"), true, []byte("two")))
	got, _ := os.ReadFile(path)
	assert.Equal(t, "two", string(got), "the file holds")
}

func TestLockIsExclusiveWithTimeout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "file")
	unlock, err := LockBeside(t.Context(), path)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = LockBeside(ctx, path)
	assert.ErrorIs(t, err, context.DeadlineExceeded, "the second lock")
	unlock()
	again, err := LockBeside(t.Context(), path)
	require.NoError(t, err)
	again()
}
