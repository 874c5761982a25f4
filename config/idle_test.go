package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
		require.NotNilf(t, c, "%v %v", text, problems)
		got := c.Idle()
		assert.Truef(t, got.Reason == want && (got.Fix == "") == (want == ""), "%s: %+v, want %q", text, got, want)
	}
}
