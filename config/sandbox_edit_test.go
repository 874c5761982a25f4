package config

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
	if got, want := set(`{"mcpServers": {"a": {"command": "x", "sandbox": "on"}}}`, `"off"`), `{"mcpServers": {"a": {"command": "x", "sandbox": "off"}}}`; got != want {
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
	const off = `{
  "mcpServers": {
    "a": {
      "command": "x",
      "sandbox": {
        // the notes
        "read": ["~/notes"], // mine
        "network": "none",
        "mode": "off"
      }
    }
  }
}
`
	if got := set(own, `"off"`); got != off {
		t.Errorf("off it is\n%s", got)
	}
	if got := set(off, `{"read":["~/notes"],"network":"none"}`); got != own {
		t.Errorf("on it is\n%s", got)
	}
}
