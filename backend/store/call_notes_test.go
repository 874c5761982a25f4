package store

import (
	"slices"
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
