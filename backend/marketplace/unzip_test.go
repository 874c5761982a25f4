package marketplace

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestUploadIsCompleteAndDeleted(t *testing.T) {
	u := &Uploads{Folder: filepath.Join(t.TempDir(), "bundles")}
	src := hello(t)
	id, err := u.Begin(int64(len(src)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := u.Append(id, 0, src[:100]); err != nil || got != 100 {
		t.Fatal(got, err)
	}
	if _, err := u.Read(id); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("half of it is read: %v", err)
	}
	if got, err := u.Append(id, 0, src[:100]); core.CodeOf(err) != core.CodeConflict || got != 100 {
		t.Errorf("a part is taken twice: %d %v", got, err)
	}
	if _, err := u.Append(id, 100, src[100:]); err != nil {
		t.Fatal(err)
	}
	if back, err := u.Read(id); err != nil || !bytes.Equal(back, src) {
		t.Errorf("%d bytes came back: %v", len(back), err)
	}
	info, err := os.Stat(u.path(id))
	if err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("others can read it: %v %v", info, err)
	}
	u.Forget(id)
	if _, err := u.Read(id); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("it is still there: %v", err)
	}
	if left, _ := os.ReadDir(u.Folder); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestUploadsAreBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	u := &Uploads{Folder: t.TempDir(), Now: func() time.Time { return now }}
	for _, size := range []int64{0, -1, MaxBundle + 1} {
		if _, err := u.Begin(size); err == nil {
			t.Errorf("%d bytes are announced", size)
		}
	}
	if err := os.WriteFile(filepath.Join(u.Folder, uploadPrefix+"OLD"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for range maxUploads + 2 {
		now = now.Add(time.Second)
		id, err := u.Begin(10)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if files, _ := os.ReadDir(u.Folder); len(files) != maxUploads {
		t.Errorf("%d files are kept", len(files))
	}
	if _, err := u.Append(ids[0], 0, []byte("x")); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("the oldest goes on: %v", err)
	}
	last := ids[len(ids)-1]
	for name, part := range map[string][]byte{"nothing": nil, "more than was announced": make([]byte, 11), "a huge part": make([]byte, MaxPart+1)} {
		if _, err := u.Append(last, 0, part); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := u.Append("../../etc/passwd", 0, []byte("x")); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("a path is an id: %v", err)
	}
	now = now.Add(uploadLife + time.Second)
	if _, err := u.Begin(1); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Append(last, 0, []byte("x")); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("an old one goes on: %v", err)
	}
}
