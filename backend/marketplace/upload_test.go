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
	if err != nil || info.Mode().Perm() != 0o600 {
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

func TestBundleIsDescribedBeforeUnpacking(t *testing.T) {
	b, err := ReadBundle(hello(t))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "bundles")
	a := b.About(folder)
	if a.Name != "hello" || a.Type != "node" || a.Files != 2 || a.Unpacked || len(a.Variables) != 2 {
		t.Errorf("%+v", a)
	}
	want := []string{"node", filepath.Join(a.Folder, "server/index.js"), "--dir", "<Folders>", "--key=<Key>"}
	if len(a.Command) != len(want) {
		t.Fatalf("%q", a.Command)
	}
	for i := range want {
		if a.Command[i] != want[i] {
			t.Errorf("word %d is %q, not %q", i, a.Command[i], want[i])
		}
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("something was written")
	}
	if err := b.Unpack(folder); err != nil || !b.About(folder).Unpacked {
		t.Errorf("unpacked: %v", err)
	}
}

func TestDockerSecretIsNotOnCommandLine(t *testing.T) {
	r, err := Parse([]byte(pack1("oci", "ghcr.io/x/y:1.0", `,"runtimeArguments":[{"type":"positional","value":"run"},{"type":"named","name":"-i","value":"true"},
	 {"type":"named","name":"-e","value":"TOKEN={token}","isRequired":true,"variables":{"token":{"isRequired":true,"isSecret":true}}}]`)))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := r.Install(0, "y", map[string]string{"runtime.2.token": "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"command":"docker","args":["run","-i","--rm","-e","TOKEN","ghcr.io/x/y:1.0"],"env":{"TOKEN":"${secret:Y_TOKEN}"}}`; string(plan.Entry) != want {
		t.Errorf("%s\n%s", plan.Entry, want)
	}
	if line := r.Options()[0].Command; line[len(line)-1] != "ghcr.io/x/y:1.0" || line[len(line)-2] != "TOKEN" {
		t.Errorf("%q", line)
	}
}
