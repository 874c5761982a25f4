package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRenamedServerKeepsItsRules(t *testing.T) {
	t.Parallel()
	src := `{
  "mcpServers": {"files": {"command": "f"}, "web": {"command": "w"}, "old": {"type": "replay", "from": {"server": "files"}}},
  "profiles": {"p": {"servers": {"files": {}}, "accounts": {"files": "default"}}},
  "clients": {"c": {"accounts": {"files": "default"}}},
  "policy": {"rules": [
    // never
    {"tool": "files__drop", "then": "deny"}, // at all
    {"tool": "files__*", "servers": ["files", "web"], "then": "ask"},
    {"servers": "files", "then": "ask"},
    {"tool": "files__own", "servers": "web", "then": "deny"},
    {"tool": "*__x", "then": "deny"},
    {"tool": "f*__x", "then": "deny"},
    {"tool": "f*", "then": "ask"}
  ]}
}
`
	want := strings.NewReplacer(`"files": {"command"`, `"My Docs": {"command"`, `"files__own"`, `"files__own"`, `files__`, `My-Docs__`, `"files"`, `"My-Docs"`).Replace(src)
	x := run(t, src)
	to, warnings, err := x.Rename(t.Context(), "files", "My Docs")
	require.NoError(t, err)
	require.Equal(t, "My-Docs", to)
	assert.Equal(t, want, contentOf(t, x.file), "the file became")
	if len(warnings) != 1 || !strings.Contains(warnings[0], "policy.rules[5]") || !strings.Contains(warnings[0], "f*__x") {
		t.Errorf("the warnings are %q", warnings)
	}
	if _, warnings, err = x.Rename(t.Context(), "my-docs", "MY DOCS"); err != nil || len(warnings) != 0 || !strings.Contains(contentOf(t, x.file), "MY-DOCS__drop") {
		t.Error(warnings, err)
	}
}

func TestRenameFollowsReferencesByName(t *testing.T) {
	t.Parallel()
	x := run(t, `{"mcpServers": {"My Files": {"command": "f", "accounts": {"work": {"env": {"A": "1"}}}}, "w": {"command": "w"}},
"clients": {"c": {"accounts": {"My Files": "work"}}},
"policy": {"rules": [{"tool": "My Files__pay", "then": "deny"}, {"tool": "My-Files__pay", "then": "deny"}, {"tool": "My F*__x", "then": "deny"}]}}`)
	_, warnings, err := x.Rename(t.Context(), "My-Files", "Our Docs")
	got := contentOf(t, x.file)
	for _, want := range []string{`"Our Docs": {"command"`, `"accounts": {"Our-Docs": "work"}`, `"tool": "Our Docs__pay"`, `"tool": "Our-Docs__pay"`, `My F*__x`} {
		assert.Contains(t, got, want)
	}
	assert.Truef(t, err == nil && len(warnings) == 1 && strings.Contains(warnings[0], "policy.rules[2]"), "%v %v", warnings, err)
}

func TestRenameIsRefusedIfRulesCouldNotFollowAtOnce(t *testing.T) {
	t.Parallel()
	x := run(t, `{"mcpServers": {"files": {"command": "f"}, "web": {"command": "w"}}, "policy": {"rules": [{"tool": "web__x", "then": "deny"}]}}`)
	writeConfig(t, filepath.Join(filepath.Dir(x.file), "conf.d", "rules.yaml"), "policy:\n  rules:\n    - {tool: files__drop, then: deny}\n")
	x.Reload(t.Context())
	before := contentOf(t, x.file)
	_, err := x.CheckRename("files", "docs")
	assert.ErrorContains(t, err, "policy.rules[1] refers to server", "the error")
	_, _, err = x.Rename(t.Context(), "files", "docs")
	assert.Truef(t, err != nil && contentOf(t, x.file) == before, "it was renamed: %v", err)
	_, _, err = x.Rename(t.Context(), "web", "net")
	assert.NoError(t, err, "a server without such a rule was not renamed")

	x = run(t, `{"mcpServers": {"files": {"command": "f"}, "web": {"command": "w", "namespace": "docs"}}, "policy": {"rules": [{"tool": "files__x", "then": "allow"}]}}`)
	_, err = x.CheckRename("files", "docs")
	assert.Error(t, err, "a rule became one about another server")
}

func TestPatternStatesAreEqualOnlyIfTheSameNamesMatch(t *testing.T) {
	t.Parallel()
	for pattern, same := range map[string]bool{
		"*": true, "*__x": true, "?__x": true, "*a__x": false, "a*": false, "b__x": false, "c__x": true, "**": true, "é*": true, "a?_x": false,
	} {
		assert.Equal(t, same, slices.Equal(patternStates(pattern, "a__"), patternStates(pattern, "b__")), pattern)
	}
}

func contentOf(t *testing.T, file string) string {
	t.Helper()
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(got)
}

func TestRenamedServerKeepsEveryOtherByte(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, want string }{
		"map": {
			"{\n  // mine\n  \"mcpServers\": {\n    \"files\": {\"command\": \"f\"}, // here\n    \"git\": {\"command\": \"g\"},\n  },\n  \"profiles\": {\"work\": {\"servers\": {\"files\": {\"prompts\": false}, \"git\": {}}}, \"all\": {}}\n}\n",
			"{\n  // mine\n  \"mcpServers\": {\n    \"My Files\": {\"command\": \"f\"}, // here\n    \"git\": {\"command\": \"g\"},\n  },\n  \"profiles\": {\"work\": {\"servers\": {\"my-files\": {\"prompts\": false}, \"git\": {}}}, \"all\": {}}\n}\n",
		},
		"list": {
			`{"servers": [{"command": "f", "name": "files"}, {"name": "git", "command": "g"}]}`,
			`{"servers": [{"command": "f", "name": "My Files"}, {"name": "git", "command": "g"}]}`,
		},
	} {
		d, err := NewDocument([]byte(c.from))
		require.NoError(t, err)
		assert.Errorf(t, d.Rename("files", "git"), "%s: the name of another server was taken", name)
		assert.Errorf(t, d.Rename("nobody", "x"), "%s: a server that is not there was renamed", name)
		d.renameReferences(rename{"files", "my-files", "files", "My Files"})
		require.NoError(t, d.Rename("files", "My Files"))
		assert.Equal(t, c.want, string(d.Bytes()), name)
	}
}
