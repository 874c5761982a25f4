package trust

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTrustFollowsRenamedServer(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "h.db"))
	defer s.Close()
	b := New(Options{Store: s})
	b.Apply([]ServerSettings{{Server: "files", Mode: Ask}, {Server: "docs", Mode: Ask}})
	mustJudge(t, b, tool("read", "Reads."))
	b.judgeTools("docs", []core.Item{tool("read", "Reads documents.")}, "") // an earlier server with the new name
	b.Apply([]ServerSettings{{Server: "files", Mode: Ask}})
	mustJudge(t, b, tool("read", "Reads."), tool("write", "Writes.")) // not saved yet
	err := b.Rename(t.Context(), "files", "docs", func() error {
		_, err := s.RenameServer(t.Context(), "files", "docs")
		return err
	})
	require.NoError(t, err)
	b.Apply([]ServerSettings{{Server: "docs", Mode: Ask}})
	w, _ := b.judgeTools("docs", []core.Item{tool("read", "Reads."), tool("write", "Writes.")}, "")
	assert.Empty(t, w, "what was trusted under the old name is withheld")
	w, _ = b.judgeTools("docs", []core.Item{tool("read", "Evil."), tool("write", "Evil.")}, "")
	assert.Len(t, w, 2, "of two that changed")
	// A later server with the old name is a new one.
	require.NoError(t, b.Flush(t.Context()))
	b.Apply([]ServerSettings{{Server: "docs", Mode: Ask}, {Server: "files", Mode: Ask}})
	assert.Empty(t, mustJudge(t, b, tool("read", "Reads otherwise.")), "a new server of the old name is judged by what the other one had")
	failed := errors.New("disk")
	assert.ErrorIs(t, b.Rename(t.Context(), "docs", "x", func() error { return failed }), failed, "a failed move")
	w, _ = b.judgeTools("docs", []core.Item{tool("read", "Worse.")}, "")
	assert.Len(t, w, 1, "after a failed move the old name has forgotten")
}

// replacedStore simulates a quarantined file: everything written before is lost.
type replacedStore struct {
	Store
	times uint64
}

func (s *replacedStore) ReplaceCount() uint64 { return s.times }

func TestTrustSurvivesQuarantinedHistoryFile(t *testing.T) {
	dir := t.TempDir()
	first := openStore(t, filepath.Join(dir, "first.db"))
	at := &replacedStore{Store: first}
	b := New(Options{Store: at})
	b.Apply([]ServerSettings{{Server: "files", Mode: Ask}})
	mustJudge(t, b, tool("read", "Reads."), tool("write", "Writes."), tool("mail", "Mails."))
	mustJudge(t, b, tool("read", "Reads."), tool("write", "Writes."), tool("mail", "Changed."))
	require.NoError(t, b.Flush(t.Context()))
	_ = first.Close()
	second := openStore(t, filepath.Join(dir, "second.db"))
	at.Store, at.times = second, 1
	require.NoError(t, b.Flush(t.Context()))
	mustJudge(t, b, tool("read", "Reads."), tool("write", "Writes."), tool("mail", "Changed.")) // the definitions are known again
	require.NoError(t, b.Flush(t.Context()))
	_ = second.Close()

	again := openStore(t, filepath.Join(dir, "second.db")) // after a restart
	defer again.Close()
	b = New(Options{Store: again})
	b.Apply([]ServerSettings{{Server: "files", Mode: Ask}})
	w := mustJudge(t, b, tool("read", "Evil."), tool("write", "Writes."), tool("mail", "Changed."))
	require.Truef(t, len(w) == 2 && w["write"] == "", "withheld is %v", w)
	list, err := b.Changes(t.Context(), "files")
	require.NoError(t, err)
	require.Len(t, list, 2)
	for _, c := range list {
		if c.Name == "read" && (len(c.Diff) < 2 || c.Diff[0] != core.DiffLine{Op: core.LineOld, Text: "description: Reads."}) {
			t.Errorf("the difference is %v", c.Diff)
		}
	}
}

func TestFloodOfNamesKeepsTrustedDefinitions(t *testing.T) {
	b := newBaseline(t)
	now := time.Now()
	b.opts.Now = func() time.Time { now = now.Add(time.Millisecond); return now }
	mustJudge(t, b, tool("read", "Reads."))
	for round := range 2 {
		var flood []core.Item
		for n := range maxRecords + 100 {
			flood = append(flood, tool(fmt.Sprintf("f%d_%d", round, n), "x"))
		}
		mustJudge(t, b, flood...)
		mustJudge(t, b)
	}
	assert.Len(t, mustJudge(t, b, tool("read", "Reads. And mails it.")), 1, "after a flood of names a changed tool is trusted on first sight")
}

var _ Store = (*store.Store)(nil)
