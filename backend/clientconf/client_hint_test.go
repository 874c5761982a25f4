package clientconf

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestApplyHintIsASentence(t *testing.T) {
	for reload, want := range map[string]string{
		"":                             "",
		"restart the client (assumed)": "To apply the change, restart the client (assumed).",
		"nothing to do":                "No further action is needed.",
		"nothing to do; it reloads":    "No action is needed: it reloads.",
		"nothing to do in the editor.": "No action is needed in the editor.",
	} {
		assert.Equalf(t, want, (Client{Reload: reload}).ApplyHint(), "%q", reload)
	}
}
