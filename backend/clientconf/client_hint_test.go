package clientconf

import "testing"

func TestApplyHintIsASentence(t *testing.T) {
	for reload, want := range map[string]string{
		"":                             "",
		"restart it (assumed)":         "To apply the change: restart it (assumed).",
		"nothing to do; it reloads":    "No action is needed to apply the change: it reloads.",
		"nothing to do in the editor.": "No action is needed to apply the change in the editor.",
	} {
		if got := (Client{Reload: reload}).ApplyHint(); got != want {
			t.Errorf("%q: got %q, want %q", reload, got, want)
		}
	}
}
