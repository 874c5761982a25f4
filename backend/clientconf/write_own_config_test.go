package clientconf

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestOurFileIsBackedUpBeforeEachChange(t *testing.T) {
	c, _, home, path := newImporter(t)
	for _, file := range []string{".cursor/mcp.json", ".codeium/windsurf/mcp_config.json"} {
		write(t, filepath.Join(home, file), `{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}`)
	}
	write(t, path, "{\n  // mine\n  \"mcpServers\": {},\n}\n")
	backups, id := config.BackupsOf(filepath.Dir(c.dir)), ""
	move := func(client, server string) error {
		p, err := c.PlanMove(Choice{Client: client}, []string{server}, false)
		require.NoError(t, err)
		return c.Apply(t.Context(), p)
	}
	for n, act := range []func() error{
		func() error { connectBy(t, c, Choice{Client: "zed"}); return nil },
		func() error { return move("cursor", "a") },
		func() (err error) {
			p, err := c.PlanImport(Choice{Client: "windsurf"}, []string{"b"})
			require.NoError(t, err)
			id, err = p.Apply(t.Context())
			return err
		},
		func() error { _, err := c.UndoImport(t.Context(), id); return err },
		func() error { _, err := c.UndoServers(t.Context(), "cursor", []string{"a"}, false); return err },
		func() error { _, err := c.Undo(t.Context(), "zed", UndoOptions{}); return err },
	} {
		before := content(t, path)
		require.NoError(t, act())
		require.NotEqual(t, before, content(t, path), "act %d", n)
		all, err := backups.List()
		require.NoError(t, err)
		require.Len(t, all, n+1)
		newest, err := backups.Read(all[0].Name)
		require.NoError(t, err)
		require.Equal(t, before, string(newest), "act %d", n)
	}
}
