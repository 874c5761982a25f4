package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestForeignMetadataIsNotOverwritten(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	record(t, b, 0, 1)
	id := aCall(0).ID
	mine, theirs := Note{Title: "mine"}, Note{Title: "theirs", Text: "and why", Tags: []string{"b", "a"}}
	require.NoError(t, b.ChangeNote(t.Context(), id, Note{}, theirs))
	for name, was := range map[string]Note{
		"nothing": {}, "another title": {Title: "x", Text: "and why", Tags: []string{"a", "b"}},
		"another text": {Title: "theirs", Tags: []string{"a", "b"}}, "another tag": {Title: "theirs", Text: "and why", Tags: []string{"a"}},
	} {
		assert.Equal(t, core.CodeConflict, core.CodeOf(b.ChangeNote(t.Context(), id, was, mine)), name)
	}
	r, err := b.Call(t.Context(), id)
	if err != nil || r.Note.Title != "theirs" || r.Note.Text != "and why" || !slices.Equal(r.Note.Tags, []string{"a", "b"}) {
		t.Errorf("the note is %+v, %v", r.Note, err)
	}
	if err := b.ChangeNote(t.Context(), id, theirs, mine); err != nil { // the order of the tags is irrelevant
		t.Error(err)
	}
	assert.NoError(t, b.ChangeNote(t.Context(), id, mine, Note{}))
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
		require.NoError(t, b.SaveVerdict(t.Context(), id, v))
	}
	calls, _, err := b.Calls(t.Context(), Query{})
	require.NoError(t, err)
	require.Len(t, calls, 3)
	v := calls[0].Verdict
	assert.Truef(t, v != nil && v.Level == "error" && len(v.Problem) == maxProblem, "the newest has %+v", v)
	v = calls[1].Verdict
	assert.Truef(t, v != nil && v.Level == "warn" && !strings.Contains(v.Problem, canary), "the middle one has %+v", v)
	one, err := b.Call(t.Context(), aCall(0).ID)
	require.NoError(t, err, "a good one")
	require.Nil(t, one.Verdict, "a good one")
	_, err = b.Erase(t.Context(), Selection{IDs: []int64{aCall(1).ID}})
	require.NoError(t, err)
	var left int
	if err := b.withHandle(func(h *handle) error { return h.read.QueryRow(`SELECT count(*) FROM verdict`).Scan(&left) }); err != nil || left != 1 {
		t.Errorf("%d verdicts are left, %v", left, err)
	}
}
