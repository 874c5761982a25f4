package observe

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

func TestOpenFilesAreRecordedWithHowTheyAreOpened(t *testing.T) {
	b := newBench(t, nil)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	open := func(name string, flags int) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, name), flags|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
	}
	open("read", os.O_RDONLY)
	open("only read", os.O_RDONLY)
	open("written", os.O_WRONLY)
	open("gone", os.O_RDWR)
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	f := NewFileSampler(FileSamplerOptions{Store: b.store, Log: slog.New(slog.DiscardHandler), Trees: func() map[string][]int { return map[string][]int{"a": {os.Getpid()}} }})
	f.record(t.Context(), f.sample())
	open("read", os.O_RDWR) // now it is written as well
	f.record(t.Context(), f.sample())
	list, err := b.store.ObservedPaths(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]store.ObservedPath{}
	for _, one := range list {
		got[one.Path] = one
		if !isRelevant(one.Path) {
			t.Errorf("%s is recorded", one.Path)
		}
	}
	if _, ok := got[dir]; ok {
		t.Error("the working directory is recorded")
	}
	for _, name := range []string{"read", "written"} {
		if !got[filepath.Join(dir, name)].Written {
			t.Errorf("%s: %+v", name, got[filepath.Join(dir, name)])
		}
	}
	if p, ok := got[filepath.Join(dir, "only read")]; !ok || p.Written {
		t.Errorf("a file that is only read: %+v", p)
	}
	if _, ok := got[filepath.Join(dir, "gone")]; ok {
		t.Error("a deleted file is recorded")
	}
}
