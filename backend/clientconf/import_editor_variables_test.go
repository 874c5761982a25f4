package clientconf

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEditorVariablesKeepTheirMeaningOrDisableTheServer(t *testing.T) {
	const unknown = "" // the server is disabled, with a note
	editors := []string{"vscode", "vscodium", "cursor", "windsurf"}
	for text, want := range map[string]struct{ project, user string }{
		"${workspaceFolder}/a":            {"/p/shop/a", "${workspaceFolder}/a"},
		"${workspaceFolderBasename}":      {"shop", unknown},
		"${workspaceFolder:shop}/a":       {"/p/shop/a", unknown},
		"${workspaceFolder:api}/a":        {unknown, unknown},
		"x${pathSeparator}y${/}z":         {"x/y/z", "x/y/z"},
		"${userHome}/a":                   {"${HOME}/a", "${HOME}/a"},
		"${env:A}":                        {"${A}", "${A}"},
		"${cwd}":                          {unknown, unknown},
		"${config:my.setting}":            {unknown, unknown},
		"${config:${env:A}}":              {unknown, unknown},
		"${command:ext.cmd}":              {unknown, unknown},
		"${file}":                         {unknown, unknown},
		"${fileDirname}":                  {unknown, unknown},
		"${workspaceFolderBasenameOther}": {unknown, unknown},
		"a $HOME ${ b":                    {"a $HOME ${ b", "a $HOME ${ b"},
	} {
		for _, id := range editors {
			client, err := ByID(id)
			require.NoError(t, err, id)
			for dir, want := range map[string]string{"/p/shop": want.project, "": want.user} {
				b := entryConverter{client: client, dir: filepath.FromSlash(dir)}
				e, err := b.convert(map[string]any{"command": "x", "cwd": "/", "args": []any{text}})
				require.NoError(t, err)
				switch {
				case want == unknown && (!e.Disabled || !strings.Contains(strings.Join(b.notes, ""), "${")):
					t.Errorf("%s %q in %q: %+v, %q", id, text, dir, e, b.notes)
				case want != unknown && (e.Disabled || filepath.ToSlash(e.Args[0]) != want):
					t.Errorf("%s %q in %q: %+v, want %s", id, text, dir, e, want)
				}
			}
		}
	}
}

// In other programs, the same text is a variable of the environment or literal.
func TestTextLikeEditorVariablesIsNotTouchedElsewhere(t *testing.T) {
	for id, want := range map[string]string{"claude-code": "${cwd}", "claude-desktop": "$${cwd}"} {
		client, _ := ByID(id)
		b := entryConverter{client: client}
		e, err := b.convert(map[string]any{"command": "x", "args": []any{"${cwd}"}})
		assert.Truef(t, err == nil && !e.Disabled && e.Args[0] == want, "%s: %+v, %v", id, e, err)
	}
	for text, off := range map[string]bool{"${config:a}": true, "${workspaceFolderBasename}": true, "${/}": false, "${cwd}": false} {
		all, err := ReadPasted(`{"mcpServers":{"a":{"command":"x","args":["` + text + `"]}}}`)
		require.NoError(t, err)
		var e configEntry
		require.NoError(t, json.Unmarshal(all[0].Entry, &e))
		assert.Equal(t, off, e.Disabled, text)
	}
}
