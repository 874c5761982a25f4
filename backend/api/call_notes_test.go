package api

import (
	"strings"
	"testing"
)

// When two users or tabs edit the note of the same call, the second gets a conflict and nothing
// of the first is lost.
func TestChangedNoteIsAConflict(t *testing.T) {
	s := newSite(t)
	at := "/api/v1/calls/" + s.fill(t, 1)[0] + "/note"
	none, theirs := `{"title":"","note":"","tags":[]}`, `{"title":"theirs","note":"","tags":["a"]}`
	if status, body, _ := s.ask(t, "PUT", at, `{"title":"theirs","note":"","tags":["a"],"base":`+none+`}`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	status, body, _ := s.ask(t, "PUT", at, `{"title":"mine","note":"","tags":[],"base":`+none+`}`)
	if status != 409 || !strings.Contains(body, `"conflict"`) || !strings.Contains(body, "changed in the meantime") {
		t.Errorf("over what nobody saw: %d %s", status, body)
	}
	if status, body, _ := s.ask(t, "PUT", at, `{"title":"mine","note":"","tags":[],"base":`+theirs+`}`); status != 200 || !strings.Contains(body, `"mine"`) {
		t.Errorf("over what was seen: %d %s", status, body)
	}
}
