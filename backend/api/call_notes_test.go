package api

import (
	"testing"
)

// When two users or tabs edit the note of the same call, the second gets a conflict and nothing
// of the first is lost.
func TestChangedNoteIsAConflict(t *testing.T) {
	s := newSite(t)
	at := "/api/v1/calls/" + s.fill(t, 1)[0] + "/note"
	none, theirs := `{"title":"","note":"","tags":[]}`, `{"title":"theirs","note":"","tags":["a"]}`
	s.want(t, "PUT", at, `{"title":"theirs","note":"","tags":["a"],"base":`+none+`}`, 200)
	s.want(t, "PUT", at, `{"title":"mine","note":"","tags":[],"base":`+none+`}`, 409, `"conflict"`, "changed in the meantime")
	s.want(t, "PUT", at, `{"title":"mine","note":"","tags":[],"base":`+theirs+`}`, 200, `"mine"`)
}
