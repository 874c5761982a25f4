package config

import (
	"strings"
	"testing"
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
