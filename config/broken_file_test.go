package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Servers of the environment remain next to a broken file. If that file may have restricted
// access to them, nobody gets access.
func TestBrokenFileDeniesClientAccess(t *testing.T) {
	env := `[{"name": "files", "command": "f"}]`
	for src, closed := range map[string]bool{
		`{"profiles": {"p": {}}, "clients": {"cursor": {"profile": "p"}}, }}`: true,
		`{"clients": {"cursor": {"profile": "gone"}}}`:                        true,
		`{"profiles": {"p": {"folders": ["/a"]}}`:                             true,
		`{"\u0063lients": {"cursor": {"profile": "p"}},`:                      true,
		`{"bridge": {"listen": "[::ffff:127.0.0.1]:1"}}`:                      false,
		`{"bridge": {"listen": "0.0.0.0:1"}}`:                                 false,
		`{"clients": {"cursor": {}}, "profiles": {}}`:                         false, // valid
	} {
		file := filepath.Join(t.TempDir(), "config.jsonc")
		require.NoError(t, os.WriteFile(file, []byte(src), 0o600))
		c, err := Sources{DefaultFile: file, JSON: env}.Load()
		require.NoError(t, err, src)
		require.Len(t, c.Servers, 1, src)
		assert.Equal(t, closed, c.VisibilityUnknown != "", src)
		if closed && !strings.Contains(c.VisibilityUnknown, "config.jsonc") {
			t.Errorf("%q does not say what to do", c.VisibilityUnknown)
		}
	}
	c, err := Sources{DefaultFile: filepath.Join(t.TempDir(), "none.jsonc"), ConfDir: filepath.Join(t.TempDir(), "none"), JSON: env}.Load()
	require.NoError(t, err, "without any file")
	require.Empty(t, c.VisibilityUnknown, "without any file")
}

// YAML has more ways to spell a key than JSON.
func TestBrokenYAMLFileDeniesClientAccess(t *testing.T) {
	for src, closed := range map[string]bool{
		"clients:\n  cursor: {profile: gone}\n":                    true,
		"\"\\x63lients\":\n  cursor: {profile: p}\n  - broken\n":   true,
		"\"\\U00000063lients\":\n  cursor: {profile: p\n":          true,
		"\"\\u0063lients\":\n  cursor: {profile: p\n":              true,
		"\"cli\\\n  ents\":\n  cursor: {profile: p\n":              true,
		"\"cli\\\r\n  ents\":\n  cursor: {profile: p\n":            true,
		"!!binary Y2xpZW50cw==:\n  cursor: {profile: p\n":          true,
		"bridge:\n  listen: 0.0.0.0:1\n":                           false,
		"mcpServers:\n  a: {command: 'C:\\Programs\\x', args: [\n": true, // it does not bind clients, but that cannot be determined
		"mcpServers:\n  a: {command: a, args: [\n":                 false,
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(src), 0o600))
		c, err := Sources{DefaultFile: filepath.Join(dir, "none.jsonc"), ConfDir: dir, JSON: `[{"name": "files", "command": "f"}]`}.Load()
		require.NoError(t, err)
		assert.Equalf(t, closed, c.VisibilityUnknown != "", "%q", src)
	}
}

// A file that cannot be read at all may bind clients, too.
func TestUnreadableFileDeniesClientAccess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.jsonc")
	require.NoError(t, os.Mkdir(file, 0o700))
	c, err := Sources{DefaultFile: file, JSON: `[{"name": "files", "command": "f"}]`}.Load()
	require.NoError(t, err)
	require.Contains(t, c.VisibilityUnknown, "fix config.jsonc")
}

func TestUnknownVisibilityIsNotEqual(t *testing.T) {
	closed := *Default()
	closed.VisibilityUnknown = "mend it"
	if Same(Default(), &closed) || SameVisibility(&closed, Default()) {
		t.Error("nobody would be told that clients may see nothing, or that they may again")
	}
}
