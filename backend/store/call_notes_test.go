package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestForeignMetadataIsNotOverwritten(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	record(t, b, 0, 1)
	id := aCall(0).ID
	mine, theirs := Note{Title: "mine"}, Note{Title: "theirs", Text: "and why", Tags: []string{"b", "a"}}
	must(t, b.ChangeNote(t.Context(), id, Note{}, theirs))
	for name, was := range map[string]Note{
		"nothing": {}, "another title": {Title: "x", Text: "and why", Tags: []string{"a", "b"}},
		"another text": {Title: "theirs", Tags: []string{"a", "b"}}, "another tag": {Title: "theirs", Text: "and why", Tags: []string{"a"}},
	} {
		if err := b.ChangeNote(t.Context(), id, was, mine); core.CodeOf(err) != core.CodeConflict {
			t.Errorf("%s: %v, want a conflict", name, err)
		}
	}
	r, err := b.Call(t.Context(), id)
	if err != nil || r.Note.Title != "theirs" || r.Note.Text != "and why" || !slices.Equal(r.Note.Tags, []string{"a", "b"}) {
		t.Errorf("the note is %+v, %v", r.Note, err)
	}
	if err := b.ChangeNote(t.Context(), id, theirs, mine); err != nil { // the order of the tags is irrelevant
		t.Error(err)
	}
	if err := b.ChangeNote(t.Context(), id, mine, Note{}); err != nil {
		t.Error(err)
	}
	if r, err := b.Call(t.Context(), id); err != nil || r.Note.Title != "" {
		t.Errorf("the note is %+v, %v", r.Note, err)
	}
}

func TestValidationResultIsShownWithCall(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	record(t, b, 0, 3)
	// Without waiting: a call is still queued, or does not exist.
	for id, v := range map[int64]core.SchemaMismatch{
		aCall(1).ID: {Level: "warn", Problem: "n is not an integer: password=" + canary},
		aCall(2).ID: {Level: "error", Problem: strings.Repeat("x", 2*maxProblem)},
		aCall(9).ID: {Level: "error", Problem: "nobody"},
	} {
		must(t, b.SaveVerdict(t.Context(), id, v))
	}
	calls, _, err := b.Calls(t.Context(), Query{})
	if err != nil || len(calls) != 3 {
		t.Fatal(calls, err)
	}
	if v := calls[0].Verdict; v == nil || v.Level != "error" || len(v.Problem) != maxProblem {
		t.Errorf("the newest has %+v", v)
	}
	if v := calls[1].Verdict; v == nil || v.Level != "warn" || strings.Contains(v.Problem, canary) {
		t.Errorf("the middle one has %+v", v)
	}
	one, err := b.Call(t.Context(), aCall(0).ID)
	if err != nil || one.Verdict != nil {
		t.Errorf("a good one has %+v, %v", one.Verdict, err)
	}
	if _, err := b.Erase(t.Context(), Selection{IDs: []int64{aCall(1).ID}}); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := b.withHandle(func(h *handle) error { return h.read.QueryRow(`SELECT count(*) FROM verdict`).Scan(&left) }); err != nil || left != 1 {
		t.Errorf("%d verdicts are left, %v", left, err)
	}
}
