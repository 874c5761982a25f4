package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// planted returns a call with a recognizable word in every recorded field.
func planted(n int) *core.Call {
	c := aCall(n)
	c.Server, c.Method, c.Name, c.PublicName = "qwxserver", "resources/read", "file:///home/qwxresource", "qwxpublic"
	c.Client = core.Client{Token: "qwxtoken", Name: "qwxclient", Version: "qwxversion"}
	c.Session, c.Workspace, c.Shim, c.Instance, c.TraceID = "qwxsession", "/home/qwxfolder", "qwxshim", "qwxinstance", "qwxtrace"
	c.Outcome, c.Code, c.Reason, c.Stack = core.OutcomeProtocolError, core.CodeInternal, "qwxreason", "qwxstack"
	c.Params = []byte(`{"uri":"file:///home/qwxresource","arguments":{"a":"qwxargument"}}`)
	c.Arguments = core.Span{}
	return c
}

func requireWordAbsent(t *testing.T, path, word string) {
	t.Helper()
	files, _ := filepath.Glob(path + "*")
	for _, f := range files {
		data, err := os.ReadFile(f)
		assert.NoError(t, err)
		text := strings.ToLower(string(data))
		for at := strings.Index(text, word); at >= 0; at = -1 {
			t.Errorf("%s still has %q", filepath.Base(f), text[max(0, at-20):min(len(text), at+40)])
		}
	}
}

func TestErasedCallsLeaveNoNameInAnyColumn(t *testing.T) {
	for name, sel := range map[string]Selection{
		"selected": {IDs: []int64{planted(150).ID, planted(3).ID, planted(150).ID, aCall(9999).ID}},
		"client":   {Client: "qwxclient"},
		"session":  {Session: "qwxsession"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history.db")
			b := open(t, path)
			for n := range 200 {
				c, r := aCall(n), textReply("other")
				if n == 3 || n == 150 {
					c, r = planted(n), textReply("qwxReply "+strings.Repeat("qwxreply2 ", 300))
				}
				b.Recorder().Record(c, r)
			}
			indexed(t, b)
			require.NoError(t, b.SaveVerdict(t.Context(), planted(3).ID, core.SchemaMismatch{Level: "warn", Problem: "qwxverdict"}))
			require.NoError(t, b.SaveNote(t.Context(), planted(150).ID, Note{Title: "qwxtitle", Text: "qwxnote", Tags: []string{"qwxtag"}}))
			before, after := filepath.Join(t.TempDir(), "before.db"), filepath.Join(t.TempDir(), "after.db")
			require.NoError(t, b.Backup(t.Context(), before))
			if n, err := b.Erase(t.Context(), sel); err != nil || n != 2 {
				t.Fatalf("erased %d, %v", n, err)
			}
			requireWordAbsent(t, path, "qwx")
			assert.Empty(t, found(t, b, Query{Text: "qwx*"}), "search finds")
			at := aCall(0).At
			u, err := b.Usage(t.Context(), UsageQuery{From: at.Add(-time.Hour), To: at.Add(time.Hour)})
			assert.Truef(t, err == nil && u.Total.Calls == 198 && len(u.ByClient) == 1, "the rollups include erased calls: %+v, %v", u, err)
			require.NoError(t, b.Backup(t.Context(), after))
			requireWordAbsent(t, after, "qwx")
			// As documented, an earlier backup still contains the calls.
			data, err := os.ReadFile(before)
			assert.Truef(t, err == nil && strings.Contains(string(data), "qwxresource"), "the backup from before has lost the calls, %v", err)
			// The cache of names must not refer to deleted rows.
			b.Recorder().Record(planted(500), textReply("again"))
			assert.Equal(t, 199, count(t, b))
			requireIntegrity(t, b)
			b.stop()
		})
	}
}

func TestUnreferencedNamesAreDeleted(t *testing.T) {
	b := fresh(t)
	rows := func(table string) (n int) {
		t.Helper()
		require.NoError(t, b.withHandle(func(h *handle) error { return h.read.QueryRow(`SELECT count(*) FROM ` + table).Scan(&n) }))
		return n
	}
	for n := range 300 {
		c := aCall(n)
		c.Method, c.Name, c.Workspace, c.Session = "resources/read", fmt.Sprintf("file:///%d", n), fmt.Sprintf("/folder/%d", n), fmt.Sprintf("session %d", n)
		b.Recorder().Record(c, aReply)
	}
	flushed(t, b)
	if _, err := b.Prune(t.Context(), RetentionLimits{Age: -1, Bytes: -1, Rows: 10}); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, b.deleteUnusedNames(t.Context()))
	if targets, folders, sessions := rows("target"), rows("workspace"), rows("session"); targets != 300 || folders != 10 || sessions != 10 {
		t.Errorf("after pruning, %d targets (referenced by rollups), %d folders and %d sessions", targets, folders, sessions)
	}
	require.NoError(t, b.deleteOldestTargets(t.Context(), 100))
	require.NoError(t, b.deleteUnusedNames(t.Context()))
	assert.Equal(t, 100, rows("target"))
	later := aCall(0).At.Add(2 * dayRetention)
	err := b.withHandle(func(h *handle) error { return deleteOldRollups(t.Context(), h.write, later, time.Hour) })
	if err == nil {
		err = b.deleteUnusedNames(t.Context())
	}
	targets := rows("target")
	assert.Truef(t, err == nil && targets == 10, "%d targets for ten calls, %v", targets, err)
	_, err = b.Erase(t.Context(), Selection{Client: "Cursor"})
	require.NoError(t, err)
	s, g, w := rows("server"), rows("target"), rows("workspace")
	assert.Equal(t, 0, s+g+w, "nothing is left, but")
	requireIntegrity(t, b)
}
