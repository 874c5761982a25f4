package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Sources{DefaultFile: file, JSON: env}.Load()
		if err != nil || len(c.Servers) != 1 {
			t.Fatalf("%s: %v", src, err)
		}
		if (c.VisibilityUnknown != "") != closed {
			t.Errorf("%s: %q", src, c.VisibilityUnknown)
		}
		if closed && !strings.Contains(c.VisibilityUnknown, "config.jsonc") {
			t.Errorf("%q does not say what to do", c.VisibilityUnknown)
		}
	}
	c, err := Sources{DefaultFile: filepath.Join(t.TempDir(), "none.jsonc"), ConfDir: filepath.Join(t.TempDir(), "none"), JSON: env}.Load()
	if err != nil || c.VisibilityUnknown != "" {
		t.Errorf("without any file: %v %q", err, c.VisibilityUnknown)
	}
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
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Sources{DefaultFile: filepath.Join(dir, "none.jsonc"), ConfDir: dir, JSON: `[{"name": "files", "command": "f"}]`}.Load()
		if err != nil {
			t.Fatal(err)
		}
		if (c.VisibilityUnknown != "") != closed {
			t.Errorf("%q: %q", src, c.VisibilityUnknown)
		}
	}
}

// A file that cannot be read at all may bind clients, too.
func TestUnreadableFileDeniesClientAccess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.jsonc")
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := Sources{DefaultFile: file, JSON: `[{"name": "files", "command": "f"}]`}.Load()
	if err != nil || !strings.Contains(c.VisibilityUnknown, "fix config.jsonc") {
		t.Errorf("%v %+v", err, c)
	}
}

func TestUnknownVisibilityIsNotEqual(t *testing.T) {
	closed := *Default()
	closed.VisibilityUnknown = "mend it"
	if Same(Default(), &closed) || SameVisibility(&closed, Default()) {
		t.Error("nobody would be told that clients may see nothing, or that they may again")
	}
}
