package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestErrorsOfRulesNameRuleAndPointer(t *testing.T) {
	for rules, want := range map[string][2]string{
		`[{"where": {"/path": {"notUder": "/a"}}, "then": "deny"}]`:                 {"policy.rules[0].where./path.notUder", "unknown key 'notUder'"},
		`[{"then": "ask"}, {"were": {"/path": {"present": true}}, "then": "deny"}]`: {"policy.rules[1].were", "unknown key 'were'"},
		`[{"where": {"path": {"present": true}}, "then": "deny"}]`:                  {"policy.rules[0].where.path", "not a JSON pointer"},
		`[{"where": {"/a~2": {"present": true}}, "then": "deny"}]`:                  {"policy.rules[0].where./a~2", "not a JSON pointer"},
		`[{"where": {"/a": {"matches": "("}}, "then": "deny"}]`:                     {"policy.rules[0].where./a.matches", "not a regular expression"},
		`[{"where": {"/a": {"under": "src"}}, "then": "deny"}]`:                     {"policy.rules[0].where./a.under", "absolute path"},
		`[{"where": {"/a": {"under": "${workspaceFolder}x"}}, "then": "deny"}]`:     {"policy.rules[0].where./a.under", "absolute path"},
		`[{"where": {"/a": {"host": "https://a.b"}}, "then": "deny"}]`:              {"policy.rules[0].where./a.host", "valid host pattern"},
		`[{"where": {"/a": {"min": "1"}}, "then": "deny"}]`:                         {"policy.rules[0].where./a.min", "must be a number"},
		`[{"where": {"/a": {"glob": []}}, "then": "deny"}]`:                         {"policy.rules[0].where./a.glob", "must not be empty"},
		`[{"where": {"/a": {}}, "then": "deny"}]`:                                   {"policy.rules[0].where./a", "at least one test"},
		`[{"where": {}, "then": "deny"}]`:                                           {"policy.rules[0].where", "is empty"},
		`[{"where": {"any": []}, "then": "deny"}]`:                                  {"policy.rules[0].where.any", "non-empty"},
		`[{"where": {"not": {"any": [{"/a": {"max": true}}]}}, "then": "deny"}]`:    {"policy.rules[0].where.not.any[0]./a.max", "must be a number"},
		`[{"where": {"/a": {"max": 1}, "/a": {"max": 2}}, "then": "deny"}]`:         {"policy.rules[0].where./a", "appears twice"},
		`[{"tool": "x"}]`:     {"policy.rules[0].then", "'then' is missing"},
		`[{"then": "block"}]`: {"policy.rules[0].then", "must be one of allow, ask, deny"},
		`{"then": "deny"}`:    {"policy.rules", "a list of rules"},
		`["deny"]`:            {"policy.rules[0]", "an object"},
		`[{"where": ` + strings.Repeat(`{"not":`, 30) + `{"/a":{"present":true}}` + strings.Repeat(`}`, 30) + `, "then": "deny"}]`: {"policy.rules[0].where", "nested deeper"},
	} {
		c, problems := Parse("c.json", []byte(`{"policy": {"rules": `+rules+`}}`))
		if c != nil || len(problems) == 0 || !strings.HasPrefix(problems[0].Key, want[0]) || !strings.Contains(problems[0].Message, want[1]) {
			t.Errorf("%s: %+v, want %v", rules, problems, want)
		}
	}
	c, problems := Parse("c.json", []byte(`{"mcpServers": {"x": {"command": "x"}}, "policy": {"rules": [{"then": "deny"}, {"tool": "a*", "servers": "x", "where": {"/a~1~0b": {"glob": ["1", "2"]}}, "then": "allow"}]}}`))
	if c == nil || len(problems) > 0 || c.Policy.Arguments[1].Key != "policy.rules[1]" || c.Policy.Arguments[1].Where.All[0].Pointer[0] != "a/~b" {
		t.Error(problems)
	}
}

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
		require.NotNil(t, c, problems)
		got := ""
		for _, p := range problems {
			if p.Server == "" {
				assert.Truef(t, p.Warning && p.Line == 2, "%s: not a warning with a line: %v", rule, p)
				got += p.String()
			}
		}
		assert.Truef(t, !(want == "" && got != "") && strings.Contains(got, want), "%s: the problems are %q, not %q", rule, got, want)
	}
}

// A pattern that no host can match is an error that says what to write; other spellings of an
// address become the one with which hosts are compared.
func TestHostPatternMatchesOrIsRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		"[::1]": "::1", "0:0:0:0:0:0:0:1": "::1", "[0000::0001]": "::1", "::FFFF:127.0.0.1": "127.0.0.1", "fe80::1%lo": "fe80::1",
		"FD00::*": "fd00::*", "[fe80:*]": "fe80:*", "2001:db8:*:?": "2001:db8:*:?", "*": "*", "Example.COM.": "example.com", "*.example.com": "*.example.com",
		"169.254.*": "169.254.*", "127.0.0.1": "127.0.0.1", "localhost": "localhost", "a_b.c": "a_b.c", "*::1": "*::1", "0xabc.com": "0xabc.com",
	} {
		list, problems := ParseArgumentRules("c.json", []byte(`[{"where": {"/u": {"host": "`+pattern+`"}}, "then": "deny"}]`))
		assert.Truef(t, len(problems) <= 0 && list[0].Where.All[0].Test.Host[0] == want, "%s: %+v, %v", pattern, list, problems)
	}
	for pattern, suggestion := range map[string]string{
		"localhost:8080": "without the port", "127.0.0.1:80": "without the port", "*:8080": "without the port", "[::1]:80": "without the port", "localhost:*": "without the port",
		"*.example.com:443": "without the port", "[*]:80": "without the port",
		"http:": "without a scheme", "https:*": "without a scheme", "https://a.b": "without a scheme", "mailto:x": "without a scheme",
		"127.1": "four decimal numbers", "0x7f.1": "four decimal numbers", "2130706433": "four decimal numbers", "127.000.000.001": "four decimal numbers", "256.1.1.1": "four decimal numbers",
		"1:2:3": "IPv6", "[::1": "IPv6", "::g": "IPv6", "fd00:0001:*": "IPv6", "a b": "only the host", "a/b": "only the host", "bücher.de": "xn--", "a@b": "only the host", "a\\tb": "only the host", ".": "only the host", "a..": "only the host",
	} {
		_, problems := ParseArgumentRules("c.json", []byte(`[{"where": {"/u": {"host": ["`+pattern+`"]}}, "then": "deny"}]`))
		if len(problems) != 1 || !strings.Contains(problems[0].Message, "host pattern") || !strings.Contains(problems[0].Suggestion, suggestion) {
			t.Errorf("%s: %+v", pattern, problems)
		}
	}
}
