package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The servers of a deleted file still run, so an edit must not remove them.
func TestEditRestoresDeletedFile(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(x *running) error{
		"add": func(x *running) error { return x.Add(t.Context(), "n", []byte(`{"command": "n"}`)) },
		"replace": func(x *running) error {
			_, text, etag, err := x.Text()
			require.NoError(t, err)
			return x.Replace(t.Context(), []byte(strings.Replace(string(text), `"b": {`, `"n": {"command": "n"}, "b": {`, 1)), etag)
		},
	} {
		x := run(t, "// mine\n"+two)
		require.NoError(t, os.Remove(x.file))
		x.expectRefused(name, "file was removed", "a=a b=b")
		all, err := x.o.Backups.List()
		assert.Truef(t, err == nil && len(all) == 1, "%s: %v, %v", name, all, err)
		require.NoError(t, edit(x), name)
		for _, id := range []string{"a", "b", "n"} {
			if _, runs := x.Current().Server(id); !runs {
				t.Errorf("%s: %s is gone, running %q", name, id, ids(x.Current()))
			}
		}
		src, _ := os.ReadFile(x.file)
		assert.Truef(t, strings.HasPrefix(string(src), "// mine\n"), "%s: the file is\n%s", name, src)
		assert.Empty(t, x.Problems(), name)
	}
}

// A file that is missing at startup may have been deleted on purpose, so nothing of it runs; but
// nothing of it is lost either.
func TestFileMissingAtStartupIsReportedAndKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.jsonc")
	writeConfig(t, file, "// mine\n"+two)
	backups := BackupsOf(dir)
	load := func() *Reloader {
		r := NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: file}, LastGood: filepath.Join(dir, "good.json"), Backups: backups})
		require.NoError(t, r.Load())
		return r
	}
	require.Empty(t, load().Problems())
	require.NoError(t, os.Remove(file))
	for range 2 { // the second start makes no further backup
		r := load()
		if p := r.Problems(); ids(r.Current()) != "" || len(p) != 1 || !p[0].Warning || !strings.Contains(p[0].String(), "file is missing, so 2 servers did not start") {
			t.Fatalf("%q, %v", ids(r.Current()), p)
		}
	}
	r := load()
	require.NoError(t, r.Add(t.Context(), "n", []byte(`{"command": "n"}`)))
	if p := r.Problems(); len(p) != 0 || ids(r.Current()) != "n=n" {
		t.Errorf("%q, %v", ids(r.Current()), p)
	}
	all, err := backups.List()
	require.NoError(t, err)
	require.Len(t, all, 1)
	if text, err := backups.Read(all[0].Name); err != nil || string(text) != "// mine\n"+two {
		t.Errorf("%q, %v", text, err)
	}
}

// Undo removes a file that a move created. It confirms the removal, so the next start reports nothing.
func TestConfirmedRemovalIsNotReportedAtStartup(t *testing.T) {
	t.Parallel()
	x := run(t, two)
	require.NoError(t, os.Remove(x.file))
	require.NoError(t, x.Sync(t.Context(), AnyETag))
	next := NewReloader(x.o)
	require.NoError(t, next.Load())
	assert.Empty(t, next.Problems())
}

// Settings that restrict clients are lost like servers, and the only copy must not be replaced.
func TestMissingFileWithoutServersIsReportedAndKept(t *testing.T) {
	t.Parallel()
	for name, backups := range map[string]string{"kept": "", "no backup": "\x00"} {
		dir := t.TempDir()
		file := filepath.Join(dir, "config.jsonc")
		o := ReloaderOptions{
			Sources:  Sources{DefaultFile: file, ConfDir: filepath.Join(dir, "conf.d")},
			LastGood: filepath.Join(dir, "good.json"), Backups: BackupsOf(filepath.Join(dir, backups)),
		}
		writeConfig(t, file, `{"history": {"keepDays": 7}}`)
		writeConfig(t, filepath.Join(o.Sources.ConfDir, "a.json"), one)
		require.NoError(t, NewReloader(o).Load())
		good, err := os.ReadFile(o.LastGood)
		require.NoError(t, err)
		require.NoError(t, os.Remove(file))
		r := NewReloader(o)
		require.NoError(t, r.Load())
		if p := r.Problems(); ids(r.Current()) != "a=a" || len(p) != 1 || !strings.Contains(p[0].String(), "its settings are not in use") {
			t.Errorf("%s: %q, %v", name, ids(r.Current()), p)
		}
		all, err := o.Backups.List()
		now, _ := os.ReadFile(o.LastGood)
		assert.NotEqual(t, string(now) == string(good), err == nil && len(all) == 1, name)
	}
}
