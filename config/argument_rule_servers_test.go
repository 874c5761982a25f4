package config

import (
	"strings"
	"testing"
)

func TestRuleAboutUnknownServerIsAWarning(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		`"tool": "files__x"`:                       "",
		`"tool": "fs__x"`:                          "",
		`"tool": "broken__x"`:                      "",
		`"tool": "drawbridge__status"`:             "",
		`"tool": "gone*__x"`:                       "",
		`"tool": "gone_x"`:                         "",
		`"tool": "gone__x", "servers": "files"`:    "",
		`"servers": ["files", "My Web", "My-Web"]`: "",
		`"tool": "gone__x"`:                        "policy.rules[0] refers to server 'gone', which is not configured (if 'gone__' is",
		`"tool": "file__x"`:                        "policy.rules[0] refers to server 'file', which is not configured (did you mean 'files'?)",
		`"servers": ["files", "gone"], "where": {"/a": {"min": 1}}`: "policy.rules[0] refers to server 'gone', which is not configured",
	} {
		c, problems := Parse("c.jsonc", []byte(`{"mcpServers": {"files": {"command": "f", "namespace": "fs"}, "My Web": {"command": "w"}, "broken": {"command": 1}},
			"policy": {"rules": [{"then": "deny", `+rule+`}]}}`))
		if c == nil {
			t.Fatal(problems)
		}
		got := ""
		for _, p := range problems {
			if p.Server == "" {
				if !p.Warning || p.Line != 2 {
					t.Errorf("%s: not a warning with a line: %v", rule, p)
				}
				got += p.String()
			}
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: the problems are %q, not %q", rule, got, want)
		}
	}
}
