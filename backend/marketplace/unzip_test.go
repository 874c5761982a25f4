package marketplace

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUploadIsCompleteAndDeleted(t *testing.T) {
	u := &Uploads{Folder: filepath.Join(t.TempDir(), "bundles")}
	src := hello(t)
	id, err := u.Begin(int64(len(src)))
	require.NoError(t, err)
	got, err := u.Append(id, 0, src[:100])
	require.Truef(t, err == nil && got == 100, "%v %v", got, err)
	_, err = u.Read(id)
	assert.Equal(t, core.CodeConflict, core.CodeOf(err), "half of it is read")
	got, err = u.Append(id, 0, src[:100])
	assert.Truef(t, core.CodeOf(err) == core.CodeConflict && got == 100, "a part is taken twice: %d %v", got, err)
	_, err = u.Append(id, 100, src[100:])
	require.NoError(t, err)
	back, err := u.Read(id)
	assert.Truef(t, err == nil && bytes.Equal(back, src), "%d bytes came back: %v", len(back), err)
	info, err := os.Stat(u.path(id))
	assert.Truef(t, err == nil && !(info.Mode().Perm() != 0o600 && os.PathSeparator == '/'), "others can read it: %v %v", info, err)
	u.Forget(id)
	_, err = u.Read(id)
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err), "it is still there")
	left, _ := os.ReadDir(u.Folder)
	assert.Truef(t, len(left) <= 0, "left behind: %v", left)
}

func TestUploadsAreBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	u := &Uploads{Folder: t.TempDir(), Now: func() time.Time { return now }}
	for _, size := range []int64{0, -1, MaxBundle + 1} {
		_, err := u.Begin(size)
		assert.Errorf(t, err, "%d bytes are announced", size)
	}
	require.NoError(t, os.WriteFile(filepath.Join(u.Folder, uploadPrefix+"OLD"), []byte("x"), 0o600))
	var ids []string
	for range maxUploads + 2 {
		now = now.Add(time.Second)
		id, err := u.Begin(10)
		require.NoError(t, err)
		ids = append(ids, id)
	}
	files, _ := os.ReadDir(u.Folder)
	assert.Len(t, files, maxUploads)
	_, err := u.Append(ids[0], 0, []byte("x"))
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err), "the oldest goes")
	last := ids[len(ids)-1]
	for name, part := range map[string][]byte{"nothing": nil, "more than was announced": make([]byte, 11), "a huge part": make([]byte, MaxPart+1)} {
		_, err = u.Append(last, 0, part)
		assert.Errorf(t, err, "%s is taken", name)
	}
	_, err = u.Append("../../etc/passwd", 0, []byte("x"))
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err), "a path is an id")
	now = now.Add(uploadLife + time.Second)
	_, err = u.Begin(1)
	require.NoError(t, err)
	_, err = u.Append(last, 0, []byte("x"))
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err), "an old one goes")
}
