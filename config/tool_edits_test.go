package config

import (
	"encoding/json"
	"testing"
)

func TestToolSettingsEditKeepsRest(t *testing.T) {
	t.Parallel()
	const before = `{
  // my servers
  "mcpServers": {
    "files": {
      "command": "x", // stays
      "args": ["a"]
    },
  },
}
`
	set := func(src string, tool string, values map[string]string) string {
		t.Helper()
		d, err := NewDocument([]byte(src))
		must(t, err)
		raw := map[string]json.RawMessage{}
		for k, v := range values {
			raw[k] = json.RawMessage(v)
		}
		must(t, d.SetTool("files", tool, raw))
		return string(d.Bytes())
	}
	one := set(before, "read", map[string]string{"requestTimeoutMs": "300000", "approval": `"ask"`})
	want := `{
  // my servers
  "mcpServers": {
    "files": {
      "command": "x", // stays
      "args": ["a"],
      "tools": {
        "read": {
          "approval": "ask",
          "requestTimeoutMs": 300000
        }
      }
    },
  },
}
`
	if one != want {
		t.Errorf("got\n%s\nwant\n%s", one, want)
	}
	if back := set(one, "read", map[string]string{"requestTimeoutMs": "null", "approval": "null"}); back != before {
		t.Errorf("taken back it is\n%s", back)
	}
	if two := set(one, "read", map[string]string{"approval": `"never"`}); two != set(before, "read", map[string]string{"requestTimeoutMs": "300000", "approval": `"never"`}) {
		t.Errorf("changed it is\n%s", two)
	}
	d, _ := NewDocument([]byte(before))
	if d.SetTool("gone", "read", nil) == nil || d.SetTool("files", "read", map[string]json.RawMessage{"approval": json.RawMessage(`{`)}) == nil {
		t.Error("nonsense is written")
	}
	odd, _ := NewDocument([]byte(`{"mcpServers": {"files": {"tools": 7}}}`))
	if odd.SetTool("files", "read", nil) == nil {
		t.Error("tools that are not objects are changed")
	}
}
