package clientconf

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newConfiguredConnector is newConnector with a configuration of Drawbridge; "" is none.
func newConfiguredConnector(t *testing.T, text string) (c *Connector, configFile string) {
	t.Helper()
	c, _ = newConnector(t)
	c.config = filepath.Join(t.TempDir(), "config.jsonc")
	if text != "" {
		write(t, c.config, text)
	}
	return c, c.config
}

func connectBy(t *testing.T, c *Connector, choice Choice) *Plan {
	t.Helper()
	p, err := c.Plan(choice)
	require.NoError(t, err)
	require.NoError(t, c.Apply(t.Context(), p))
	return p
}

// A client that is connected for the first time gets the tool mode auto, which the preview shows, and
// each order of undoing restores the configuration byte for byte.
func TestNewClientsGetTheToolModeAuto(t *testing.T) {
	for name, before := range map[string]string{
		"no file": "", "servers": "{\n  // mine\n  \"mcpServers\": {\"a\": {\"command\": \"x\"}} // end\n}\n", "one line": `{"mcpServers":{}}`,
		"a client": "{\n  \"mcpServers\": {},\n  \"clients\": {\n    \"zed\": {\"toolMode\": \"all\"},\n  },\n}\n",
	} {
		for _, order := range [][]string{{"cursor", "windsurf"}, {"windsurf", "cursor"}} {
			c, file := newConfiguredConnector(t, before)
			p := connectBy(t, c, Choice{Client: "cursor"})
			assert.Contains(t, p.Diff, "toolMode", name)
			assert.Contains(t, content(t, file), `"toolMode": "auto"`, name)
			connectBy(t, c, Choice{Client: "windsurf"})
			assert.Equal(t, 2, strings.Count(content(t, file), `"auto"`), name)
			for _, client := range order {
				_, err := c.Undo(t.Context(), client, UndoOptions{})
				require.NoError(t, err)
			}
			left, err := os.ReadFile(file)
			switch {
			case before == "" && order[0] == "windsurf":
				assert.Errorf(t, err, "the file that connecting created is left: %s", left)
			case before != "" && string(left) != before:
				t.Errorf("%s, undone in the order %q:\n%s\ninstead of\n%s", name, order, left, before)
			}
		}
	}
}

// A setting of the user stays, and so does the mode of clients that were connected before.
func TestToolModeOfTheUserStays(t *testing.T) {
	for name, before := range map[string]string{
		"of the client": `{"clients": {"cursor": {"profile": "p"}}, "profiles": {"p": {}}}`,
		"of a profile":  `{"profiles": {"p": {"toolMode": "search"}}}`,
		"invalid":       `{"clients": {`,
	} {
		c, file := newConfiguredConnector(t, before)
		p := connectBy(t, c, Choice{Client: "cursor"})
		if content(t, file) != before || name == "invalid" && !strings.Contains(strings.Join(p.Warnings, " "), "lists all tools") {
			t.Errorf("%s: %s %q", name, content(t, file), p.Warnings)
		}
	}
	before := `{"mcpServers": {}}`
	c, file := newConfiguredConnector(t, before)
	connectBy(t, c, Choice{Client: "cursor", Project: t.TempDir(), Servers: []ServerEntry{{Name: "a", Server: "a"}}})
	connectBy(t, c, Choice{Client: "cursor"})
	assert.Equal(t, before, content(t, file), "a client that was connected before, or to one server")
	c, file = newConfiguredConnector(t, before)
	connectBy(t, c, Choice{Client: "cursor"})
	chosen := strings.Replace(content(t, file), `"auto"`, `"search"`, 1)
	write(t, file, chosen)
	_, err := c.Undo(t.Context(), "cursor", UndoOptions{})
	require.NoError(t, err)
	assert.Equal(t, chosen, content(t, file), "the choice of the user is lost")
}

// A configuration that cannot be written does not prevent a connection.
func TestReadOnlyConfigurationDoesNotPreventAConnection(t *testing.T) {
	c, file := newConfiguredConnector(t, `{"mcpServers": {}}`)
	require.NoError(t, os.Chmod(file, 0o400))
	connectBy(t, c, Choice{Client: "cursor"})
	s, _ := c.Status("cursor")
	assert.Truef(t, s.State == Connected && content(t, file) == `{"mcpServers": {}}`, "%+v", s)
	how, err := c.Undo(t.Context(), "cursor", UndoOptions{})
	assert.Truef(t, how == Restored && err == nil, "%v %v", how, err)
}

// The guard never sees a recorded connection without its entry: our configuration, whose change takes a
// while, is changed after the client's file. If it fails, the client stays connected.
func TestEntryIsWrittenBeforeTheToolMode(t *testing.T) {
	c, file := newConfiguredConnector(t, `{"mcpServers": {}}`)
	var states []State
	c.Sync = func(context.Context, string) error {
		s, _ := c.Status("cursor")
		states = append(states, s.State)
		return errors.New("refused")
	}
	p := connectBy(t, c, Choice{Client: "cursor"})
	if s, _ := c.Status("cursor"); !slices.Equal(states, []State{Connected}) || s.State != Connected || content(t, file) != `{"mcpServers": {}}` {
		t.Errorf("%v, then %s, with %s", states, s.State, content(t, file))
	}
	assert.Contains(t, strings.Join(p.Warnings, " "), "was not set")
}
