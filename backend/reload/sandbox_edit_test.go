package reload

import (
	"encoding/json"
	"testing"
)

func TestSandboxEditKeepsSettingsAndComments(t *testing.T) {
	t.Parallel()
	set := func(src, value string) string {
		t.Helper()
		d, err := NewDocument([]byte(src))
		must(t, err)
		must(t, d.SetSandbox("a", json.RawMessage(value)))
		return string(d.Bytes())
	}
	if got, want := set(`{"mcpServers": {"a": {"command": "x", "sandbox": "on"}}}`, `"observe"`), `{"mcpServers": {"a": {"command": "x", "sandbox": "observe"}}}`; got != want {
		t.Errorf("a word: %s", got)
	}
	const own = `{
  "mcpServers": {
    "a": {
      "command": "x",
      "sandbox": {
        // the notes
        "read": ["~/notes"], // mine
        "network": "none"
      }
    }
  }
}
`
	const observed = `{
  "mcpServers": {
    "a": {
      "command": "x",
      "sandbox": {
        // the notes
        "read": ["~/notes"], // mine
        "network": "none",
        "mode": "observe"
      }
    }
  }
}
`
	if got := set(own, `"observe"`); got != observed {
		t.Errorf("observed it is\n%s", got)
	}
	if got := set(observed, `{"read":["~/notes"],"network":"none"}`); got != own {
		t.Errorf("locked it is\n%s", got)
	}
}
