package trust

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
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
	must(t, err)
	b.Apply([]ServerSettings{{Server: "docs", Mode: Ask}})
	if w, _ := b.judgeTools("docs", []core.Item{tool("read", "Reads."), tool("write", "Writes.")}, ""); len(w) != 0 {
		t.Errorf("what was trusted under the old name is withheld: %v", w)
	}
	if w, _ := b.judgeTools("docs", []core.Item{tool("read", "Evil."), tool("write", "Evil.")}, ""); len(w) != 2 {
		t.Errorf("of two that changed %v is withheld", w)
	}
	// A later server with the old name is a new one.
	must(t, b.Flush(t.Context()))
	b.Apply([]ServerSettings{{Server: "docs", Mode: Ask}, {Server: "files", Mode: Ask}})
	if w := mustJudge(t, b, tool("read", "Reads otherwise.")); len(w) != 0 {
		t.Errorf("a new server of the old name is judged by what the other one had: %v", w)
	}
	failed := errors.New("disk")
	if err := b.Rename(t.Context(), "docs", "x", func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("a failed move: %v", err)
	}
	if w, _ := b.judgeTools("docs", []core.Item{tool("read", "Worse.")}, ""); len(w) != 1 {
		t.Error("after a failed move the old name has forgotten")
	}
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
	must(t, b.Flush(t.Context()))
	_ = first.Close()
	second := openStore(t, filepath.Join(dir, "second.db"))
	at.Store, at.times = second, 1
	must(t, b.Flush(t.Context()))
	mustJudge(t, b, tool("read", "Reads."), tool("write", "Writes."), tool("mail", "Changed.")) // the definitions are known again
	must(t, b.Flush(t.Context()))
	_ = second.Close()

	again := openStore(t, filepath.Join(dir, "second.db")) // after a restart
	defer again.Close()
	b = New(Options{Store: again})
	b.Apply([]ServerSettings{{Server: "files", Mode: Ask}})
	if w := mustJudge(t, b, tool("read", "Evil."), tool("write", "Writes."), tool("mail", "Changed.")); len(w) != 2 || w["write"] != "" {
		t.Fatalf("withheld is %v", w)
	}
	list, err := b.Changes(t.Context(), "files")
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
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
	if w := mustJudge(t, b, tool("read", "Reads. And mails it.")); len(w) != 1 {
		t.Error("after a flood of names a changed tool is trusted on first sight")
	}
}

var _ Store = (*store.Store)(nil)
