package clientconf

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
)

func TestErrorsOfOwnConfigNameFileLineAndRemedy(t *testing.T) {
	for _, c := range []struct{ name, src, message, hint string }{
		{"c.yaml", "mcpServers:\n  a:\n    command: a\n", "cannot edit FILE: it is YAML", "Edit it in a text editor"},
		{"c.jsonc", "{\n  \"mcpServers\" {}}", "cannot edit FILE:2:16: invalid character '{' after object name (add a colon between key and value)", "drawbridge validate"},
		{"c.jsonc", `["a"]`, "cannot edit FILE:1:1: a configuration must be an object, not a list", "drawbridge validate"},
		{"c.jsonc", `{"mcpServers": [{"name": "a", "command": "a"}]}`, "cannot edit FILE: it stores its servers in an array", "names as keys"},
		{"c.jsonc", "{\n  \"mcpServers\": {},\n  \"bridge\": {\"listen\": 5}\n}", "cannot edit FILE:3:24: 'listen' must be a string, not a number", "drawbridge validate"},
	} {
		connector, home, _ := newMover(t)
		connector.config = filepath.Join(home, c.name)
		write(t, connector.config, c.src)
		p, err := connector.PrepareServer(NewServer{Name: "b", Command: "b"})
		if err == nil {
			err = p.Write(t.Context())
		}
		message, hint := core.Describe(err)
		want := strings.ReplaceAll(c.message, "FILE", connector.config)
		assert.Truef(t, message == want && strings.Contains(hint, c.hint), "%s\n got %s | %s\nwant %s | %s", c.src, message, hint, want, c.hint)
		assert.Equal(t, c.src, content(t, connector.config))
	}
}
