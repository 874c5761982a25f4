package store

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHistoryFollowsRenamedServer(t *testing.T) {
	t.Parallel()
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), later)
	record(t, b, 0, 100)
	indexed(t, b)
	ctx := t.Context()
	require.NoError(t, b.SaveRecording(ctx, RecordingSettings{Rules: []Rule{{Server: "files", Tool: "write", Keep: KeepMeta}}}))
	for key, value := range map[string]string{"approved/files/k1": "1", "approved/files2/k": "1", "era/files": "dual k"} {
		require.NoError(t, b.SaveMetadata(ctx, key, []byte(value)))
	}
	require.NoError(t, b.SaveCatalog(ctx, "files", "key", &core.Catalog{}))
	from, to := aCall(0).At.Add(-time.Hour), aCall(0).At.Add(time.Hour)
	known := func(name string, want int) {
		t.Helper()
		flushed(t, b)
		got, _, err := b.Calls(ctx, Query{Server: name, Limit: 500})
		assert.NoError(t, err, name)
		assert.Len(t, got, want, name)
		for _, c := range got {
			require.Equal(t, name, c.Server, "a call")
		}
		got, _, err = b.Calls(ctx, Query{Server: name, Tool: "echo", Text: "echo", Limit: 500})
		assert.NoError(t, err, name)
		assert.Len(t, got, want, name)
		for _, q := range []Query{{}, {Text: "echo"}} {
			f, err := b.Facets(ctx, q)
			n := int64(0)
			for _, one := range f.Servers {
				if one.Value == name {
					n += one.Calls
				}
			}
			assert.NoErrorf(t, err, "%s: the facets of %q", name, q.Text)
			assert.Equalf(t, int64(want), n, "%s: the facets of %q", name, q.Text)
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
		assert.Equal(t, int64(want), n, name)
	}
	known("files", 100)
	_, err := b.RenameServer(ctx, "files", "fs")
	require.NoError(t, err)
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
	r := b.Recording().Rules
	assert.Truef(t, len(r) == 1 && r[0].Server == "fs", "what is recorded of it: %+v", r)
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
	n, err := b.Prune(ctx, RetentionLimits{Age: -1, Bytes: -1, Rows: 12})
	assert.Truef(t, err == nil && n == 104, "pruned %d, %v", n, err)
	requireIntegrity(t, b)

	c := openAt(t, filepath.Join(t.TempDir(), "history.db"), later)
	record(t, c, 0, 10)
	back, err := c.RenameServer(ctx, "files", "fs")
	require.NoError(t, err)
	require.NoError(t, back(ctx))
	b = c
	known("files", 10)
	known("fs", 0)
	record(t, c, 10, 5)
	known("files", 15)
	b.stop()
	b = openAt(t, b.path, later)
	known("files", 15)
}

func TestCallsKnowWhichVersionAnswered(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "history.db"))
	defer b.stop()
	old := core.ServedBy{Name: "fs", Version: "1.4.1", Package: "@scope/fs@1.4.1", Definition: [16]byte{0xab, 0xcd, 1, 2, 3}}
	newer := old
	newer.Version, newer.Package, newer.Definition = "1.4.2", "@scope/fs@2026.1.2", [16]byte{0x12, 0x34, 5, 6, 7}
	rare := newer
	for i := range 8 {
		c := aCall(i)
		switch {
		case i == 0: // no server answered
		case i < 3:
			c.ServedBy = &old
		case i == 7:
			c.Progress, c.Attempts, c.Server, c.ServedBy = 0, 2, "other", &rare // written by another statement
		default:
			c.Progress, c.ServedBy = 0, &newer
		}
		b.Recorder().Record(c, aReply)
	}
	flushed(t, b)
	for _, c := range []struct {
		version, server, tool string
		want                  []int
	}{
		{version: "1.4.1", want: []int{2, 1}},
		{version: "@scope/fs@2026.1.2", want: []int{7, 6, 5, 4, 3}},
		{version: "2026.1.2", server: "files", want: []int{6, 5, 4, 3}},
		{version: "1.4.2", server: "other", want: []int{7}},
		{version: "1.4.2", tool: "echo", want: []int{7, 6, 5, 4, 3}},
		{version: "abcd0102", want: []int{2, 1}},
		{version: "abcd"}, // too short for a hash
		{version: "1.4"},
		{version: "%"},
	} {
		calls, _, err := b.Calls(t.Context(), Query{Version: c.version, Server: c.server, Tool: c.tool})
		var got []int
		for _, one := range calls {
			got = append(got, int(one.ID-aCall(0).ID)/1000)
		}
		assert.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	for i, want := range map[int]*core.ServedBy{0: nil, 1: &old, 5: &newer, 7: &rare} {
		got, err := b.Call(t.Context(), aCall(i).ID)
		if err != nil || (got.ServedBy == nil) != (want == nil) || want != nil && *got.ServedBy != *want {
			t.Errorf("call %d was answered by %+v, want %+v: %v", i, got.ServedBy, want, err)
		}
	}
	var rows int
	_, err := b.queryRow(t.Context(), []any{&rows}, `SELECT count(*) FROM version`)
	assert.Truef(t, err == nil && rows == 3, "%d rows, %v", rows, err)
	facets, err := b.Facets(t.Context(), Query{Version: "1.4.1"})
	assert.Truef(t, err == nil && facets.Total == 2, "%+v, %v", facets, err)
}

// A version is marked where it answered its first call: in the statistics of all servers only where
// it replaced another one.
func TestUsageTellsWhereAVersionBegan(t *testing.T) {
	t.Parallel()
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), later)
	defer b.stop()
	for i, c := range []struct{ server, version, definition string }{
		{"files", "1", "a"}, {"other", "7", "a"}, {"files", "1", "b"}, {"files", "2", "a"}, {"files", "1", "a"}, {"files", "2", "c"},
	} {
		call := aCall(i * 1000)
		call.Server, call.ServedBy = c.server, &core.ServedBy{Name: "fs", Version: c.version, Package: "p@" + c.version, Definition: [16]byte{c.definition[0]}}
		b.Recorder().Record(call, aReply)
	}
	flushed(t, b)
	from, to := aCall(0).At.Add(-time.Hour), aCall(0).At.Add(time.Hour)
	for _, c := range []struct {
		q    UsageQuery
		want []string
	}{
		{UsageQuery{From: from, To: to}, []string{"files 2 p@2 3s"}},
		{UsageQuery{From: from, To: to, Server: "files"}, []string{"files 1 p@1 0s", "files 2 p@2 3s"}},
		{UsageQuery{From: from, To: to, Server: "other"}, []string{"other 7 p@7 1s"}},
		{UsageQuery{From: from, To: aCall(0).At.Add(-30 * time.Minute), Server: "files"}, nil},
	} {
		u, err := b.Usage(t.Context(), c.q)
		require.NoError(t, err)
		var got []string
		for _, v := range u.Versions {
			got = append(got, fmt.Sprint(v.Server, " ", v.Version, " ", v.Package, " ", v.At.Sub(aCall(0).At)))
		}
		assert.Equalf(t, c.want, got, "%+v", c.q)
	}
}

func TestVersionsOfDeletedCallsAreDeleted(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "history.db"))
	defer b.stop()
	for i := range maxVersions + 1 {
		c := aCall(i)
		c.ServedBy = &core.ServedBy{Version: fmt.Sprint(i)}
		b.Recorder().Record(c, aReply)
		if i%1000 == 0 {
			flushed(t, b)
		}
	}
	flushed(t, b)
	_, err := b.Erase(t.Context(), Selection{IDs: []int64{aCall(3).ID, aCall(4).ID}})
	require.NoError(t, err)
	require.NoError(t, b.deleteUnusedNames(t.Context()))
	var rows int
	_, err = b.queryRow(t.Context(), []any{&rows}, `SELECT count(*) FROM version`)
	assert.Truef(t, err == nil && rows == maxVersions-1, "%d rows, %v", rows, err)
	c := aCall(3)
	c.ID += 7_000_000
	c.ServedBy = &core.ServedBy{Version: "3"} // its row was deleted
	b.Recorder().Record(c, aReply)
	flushed(t, b)
	got, err := b.Call(t.Context(), c.ID)
	assert.Truef(t, err == nil && got.ServedBy != nil && got.ServedBy.Version == "3", "%+v, %v", got, err)
}
