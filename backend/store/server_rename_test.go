package store

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestHistoryFollowsRenamedServer(t *testing.T) {
	t.Parallel()
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), later)
	record(t, b, 0, 100)
	indexed(t, b)
	ctx := t.Context()
	must(t, b.SaveRecording(ctx, RecordingSettings{Rules: []Rule{{Server: "files", Tool: "write", Keep: KeepMeta}}}))
	for key, value := range map[string]string{"approved/files/k1": "1", "approved/files2/k": "1", "era/files": "dual k"} {
		must(t, b.SaveMetadata(ctx, key, []byte(value)))
	}
	must(t, b.SaveCatalog(ctx, "files", "key", &core.Catalog{}))
	from, to := aCall(0).At.Add(-time.Hour), aCall(0).At.Add(time.Hour)
	known := func(name string, want int) {
		t.Helper()
		flushed(t, b)
		got, _, err := b.Calls(ctx, Query{Server: name, Limit: 500})
		if err != nil || len(got) != want {
			t.Errorf("%s has %d calls of %d, %v", name, len(got), want, err)
		}
		for _, c := range got {
			if c.Server != name {
				t.Fatalf("a call of %s says %s", name, c.Server)
			}
		}
		got, _, err = b.Calls(ctx, Query{Server: name, Tool: "echo", Text: "echo", Limit: 500})
		if err != nil || len(got) != want {
			t.Errorf("%s: search finds %d calls of %d, %v", name, len(got), want, err)
		}
		for _, q := range []Query{{}, {Text: "echo"}} {
			f, err := b.Facets(ctx, q)
			n := int64(0)
			for _, one := range f.Servers {
				if one.Value == name {
					n += one.Calls
				}
			}
			if err != nil || n != int64(want) {
				t.Errorf("%s: the facets of %q count %d of %d, %v", name, q.Text, n, want, err)
			}
		}
		u, err := b.Usage(ctx, UsageQuery{From: from, To: to, Server: name})
		if err != nil || u.Total.Calls != int64(want) {
			t.Errorf("%s: the sums have %d of %d, %v", name, u.Total.Calls, want, err)
		}
		if u, err = b.Usage(ctx, UsageQuery{From: from, To: to}); err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for _, one := range u.ByServer {
			if one.Server == name {
				n += one.Calls
			}
		}
		if n != int64(want) {
			t.Errorf("%s: the sums of all servers have %d of %d", name, n, want)
		}
	}
	known("files", 100)
	_, err := b.RenameServer(ctx, "files", "fs")
	must(t, err)
	known("fs", 100)
	known("files", 0)
	if c, err := b.Catalog(ctx, "fs", "key"); err != nil || c == nil {
		t.Errorf("its catalog is %v, %v", c, err)
	}
	for key, want := range map[string]bool{"approved/fs/k1": true, "approved/files/k1": false, "approved/files2/k": true, "era/fs": true} {
		if _, ok, err := b.Metadata(ctx, key); err != nil || ok != want {
			t.Errorf("%s: %v, %v", key, ok, err)
		}
	}
	if r := b.Recording().Rules; len(r) != 1 || r[0].Server != "fs" {
		t.Errorf("what is recorded of it: %+v", r)
	}
	// A call that began before the renaming ends; later another server gets the old name.
	record(t, b, 100, 1)
	known("fs", 101)
	b.Recorder().SetCeiling(map[string]RecordLevel{"files": KeepFull, "fs": KeepFull}, nil)
	record(t, b, 200, 10)
	known("files", 10)
	known("fs", 101)
	for n := range 5 {
		c := aCall(300 + n)
		c.Server = "fs"
		b.Recorder().Record(c, aReply)
	}
	known("fs", 106)
	indexed(t, b)
	known("fs", 106)
	known("files", 10)
	if n, err := b.Prune(ctx, RetentionLimits{Age: -1, Bytes: -1, Rows: 12}); err != nil || n != 104 {
		t.Errorf("pruned %d, %v", n, err)
	}
	requireIntegrity(t, b)

	c := openAt(t, filepath.Join(t.TempDir(), "history.db"), later)
	record(t, c, 0, 10)
	back, err := c.RenameServer(ctx, "files", "fs")
	must(t, err)
	must(t, back(ctx))
	b = c
	known("files", 10)
	known("fs", 0)
	record(t, c, 10, 5)
	known("files", 15)
	b.stop()
	b = openAt(t, b.path, later)
	known("files", 15)
}
