package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	if err != nil || to != "My-Docs" {
		t.Fatal(to, err)
	}
	if got := contentOf(t, x.file); got != want {
		t.Errorf("the file became\n%s\nand should be\n%s", got, want)
	}
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
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "policy.rules[2]") {
		t.Error(warnings, err)
	}
}

func TestRenameIsRefusedIfRulesCouldNotFollowAtOnce(t *testing.T) {
	t.Parallel()
	x := run(t, `{"mcpServers": {"files": {"command": "f"}, "web": {"command": "w"}}, "policy": {"rules": [{"tool": "web__x", "then": "deny"}]}}`)
	writeConfig(t, filepath.Join(filepath.Dir(x.file), "conf.d", "rules.yaml"), "policy:\n  rules:\n    - {tool: files__drop, then: deny}\n")
	x.Reload(t.Context())
	before := contentOf(t, x.file)
	_, err := x.CheckRename("files", "docs")
	if err == nil || !strings.Contains(err.Error(), "policy.rules[1] refers to server") {
		t.Errorf("the error is %v", err)
	}
	if _, _, err := x.Rename(t.Context(), "files", "docs"); err == nil || contentOf(t, x.file) != before {
		t.Errorf("it was renamed: %v", err)
	}
	if _, _, err := x.Rename(t.Context(), "web", "net"); err != nil {
		t.Errorf("a server without such a rule was not renamed: %v", err)
	}

	x = run(t, `{"mcpServers": {"files": {"command": "f"}, "web": {"command": "w", "namespace": "docs"}}, "policy": {"rules": [{"tool": "files__x", "then": "allow"}]}}`)
	if _, err := x.CheckRename("files", "docs"); err == nil {
		t.Error("a rule became one about another server")
	}
}

func TestPatternStatesAreEqualOnlyIfTheSameNamesMatch(t *testing.T) {
	t.Parallel()
	for pattern, same := range map[string]bool{
		"*": true, "*__x": true, "?__x": true, "*a__x": false, "a*": false, "b__x": false, "c__x": true, "**": true, "é*": true, "a?_x": false,
	} {
		if got := slices.Equal(patternStates(pattern, "a__"), patternStates(pattern, "b__")); got != same {
			t.Errorf("%s: %v", pattern, got)
		}
	}
}

func contentOf(t *testing.T, file string) string {
	t.Helper()
	got, err := os.ReadFile(file)
	must(t, err)
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
		must(t, err)
		if err := d.Rename("files", "git"); err == nil {
			t.Errorf("%s: the name of another server was taken", name)
		}
		if err := d.Rename("nobody", "x"); err == nil {
			t.Errorf("%s: a server that is not there was renamed", name)
		}
		d.renameReferences(rename{"files", "my-files", "files", "My Files"})
		must(t, d.Rename("files", "My Files"))
		if got := string(d.Bytes()); got != c.want {
			t.Errorf("%s: it became\n%s\nand should be\n%s", name, got, c.want)
		}
	}
}
