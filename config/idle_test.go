package config

import "testing"

func TestIdleSaysWhyNoServerCanRun(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "No servers are configured",
		`{"mcp": {"enabled": false}, "mcpServers": {"a": {"command": "x"}}}`:                                              "No server runs, because mcp.enabled is false",
		`{"mcpServers": {"a": {"command": "x", "disabled": true}}}`:                                                       "The only server is disabled",
		`{"mcpServers": {"a": {"command": "x", "disabled": true}, "b": {"url": "http://localhost/x", "disabled": true}}}`: "All 2 servers are disabled",
		`{"mcpServers": {"a": {"command": "x", "disabled": true}, "b": {"command": "x"}}}`:                                "",
		`{"mcpServers": {"a": {"command": 7}}}`:                                                                           "",
	} {
		c, problems := Parse("c.json", []byte(text))
		if c == nil {
			t.Fatal(text, problems)
		}
		if got := c.Idle(); got.Reason != want || (got.Fix == "") != (want == "") {
			t.Errorf("%s: %+v, want %q", text, got, want)
		}
	}
}
