package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func rulesOf(t *testing.T, src string) Server {
	t.Helper()
	c, problems := Parse("c.json", []byte(src))
	require.Truef(t, c != nil && len(problems) <= 0 && len(c.Servers) == 1, "%s: %v", src, problems)
	return c.Servers[0]
}

func TestNearestRuleLevelWins(t *testing.T) {
	base := DefaultRules()
	with := func(change func(*Rules)) Rules { r := base; change(&r); return r }
	strict := with(func(r *Rules) {
		r.Retry = Retry{Attempts: 3, Delays: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}}
		r.RateLimit = RateLimit{PerSecond: 10, Burst: 20, By: ByClient}
	})
	for _, c := range []struct {
		name, root, server string
		rules              Rules
		timeout            time.Duration
	}{
		{"nothing", ``, ``, base, 30 * time.Second},
		{"strict for all", `"policy": {"preset": "strict"},`, ``, strict, 5 * time.Second},
		{"strict for one", ``, `, "policy": {"preset": "strict"}`, strict, 5 * time.Second},
		{"its own key beside its preset", ``, `, "policy": {"preset": "strict"}, "requestTimeoutMs": 7000`, strict, 7 * time.Second},
		{"the old spelling", `"policy": {"preset": "strict"},`, `, "timeout": 8000`, strict, 8 * time.Second},
		{"a global timeout beside the preset", `"policy": {"preset": "strict"}, "globalSettings": {"timeout": 9000},`, ``, strict, 9 * time.Second},
		{"a server against the preset", `"policy": {"preset": "strict"},`, `, "retry": {}`, func() Rules {
			r := strict
			r.Retry = Retry{Backoff: 500 * time.Millisecond, MaxBackoff: 10 * time.Second}
			return r
		}(), 5 * time.Second},
		{"its preset against global keys", `"policy": {"rateLimit": {"perSecond": 0.5}},`, `, "policy": {"preset": "strict"}`, strict, 5 * time.Second},
		{"an empty rate limit", ``, `, "rateLimit": {}`, with(func(r *Rules) { r.RateLimit = RateLimit{10, 20, ByClient} }), 30 * time.Second},
		{"the breaker switched off", ``, `, "breaker": {"failures": 0}`, with(func(r *Rules) { r.Breaker = Breaker{0, 30 * time.Second} }), 30 * time.Second},
		{"delays say how often", ``, `, "retry": {"delaysMs": [10, 20]}`, with(func(r *Rules) {
			r.Retry = Retry{Attempts: 2, Delays: []time.Duration{10 * time.Millisecond, 20 * time.Millisecond}, Backoff: 500 * time.Millisecond, MaxBackoff: 10 * time.Second}
		}), 30 * time.Second},
		{"words", `"policy": {"approval": "ask", "validateInput": "reject"},`, `, "approval": "destructive", "concurrency": {"max": 2}`, with(func(r *Rules) {
			r.Approval, r.ValidateInput, r.Concurrency = ApprovalDestructive, ValidateReject, Concurrency{2, 64}
		}), 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := rulesOf(t, `{`+c.root+` "mcpServers": {"a": {"command": "x"`+c.server+`}}}`)
			s.Rules.SetBy = nil // see TestExplainMatchesAdmit
			diff := cmp.Diff(c.rules, s.Rules)
			assert.Truef(t, diff == "" && s.RequestTimeout == c.timeout, "%s, %s", s.RequestTimeout, diff)
		})
	}
}

func TestRuleErrorsAreReported(t *testing.T) {
	for src, want := range map[string]string{
		`"retry": 3`:                      "'retry' in server 'a' must be an object, not a number",
		`"retry": {"attempts": 21}`:       "'attempts' in server 'a' must be a whole number from 0 to 20",
		`"retry": {"delaysMs": [1, "x"]}`: "'delaysMs[1]' in server 'a' must be a number, not a string",
		`"rateLimit": {"perSecond": 0}`:   "'perSecond' in server 'a' must be a number greater than 0 and at most 1e+06",
		`"rateLimit": {"perSeconds": 5}`:  "unknown key 'perSeconds' in server 'a' (did you mean 'perSecond'?)",
		`"tools": {"t": {"clients": {"x": {"rateLimit": {"burst": 0}}}}}`: "'burst' in server 'a' must be a whole number from 1 to 1000000",
		`"approval": "asks"`:                                     "'approval' in server 'a' must be one of never, ask, deny, destructive (did you mean 'ask'?)",
		`"tools": {"t": true}`:                                   "'t' in server 'a' must be an object, not true or false",
		`"tools": {"t": {"renamed": "x"}}`:                       "unknown key 'renamed' in server 'a' (did you mean 'rename'?)",
		`"tools": {"t": {"annotations": {"readOnlyHnt": true}}}`: "unknown key 'readOnlyHnt' in server 'a' (did you mean 'readOnlyHint'?)",
		`"tools": {"t": {"annotations": {"readOnlyHint": 1}}}`:   "'readOnlyHint' in server 'a' must be true or false, not a number",
		`"tools": {"t": {"rename": "x y"}}`:                      "'rename' in server 'a' must be at most 128 characters: letters, digits, '_', '-' and '.'",
		`"tools": {"t": {"rename": "x"}, "u": {"rename": "x"}}`:  "tools 't' and 'u' would share the name 'x' in server 'a'",
		`"tools": {"t": {}, "t": {}}`:                            "key 't' appears twice in 'tools' in server 'a'",
		`"includeTools": "read"`:                                 "'includeTools' in server 'a' must be a list of strings, not a string",
	} {
		_, problems := Parse("c.json", []byte(`{"mcpServers": {"a": {"command": "x", `+src+`}}}`))
		require.Len(t, problems, 1, src)
		require.Contains(t, problems[0].String(), want, src)
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"read", "read", true}, {"read", "reader", false}, {"read*", "read", true}, {"read*", "read_file", true}, {"*file", "read_file", true},
		{"*", "", true}, {"*", "a/b", true}, {"", "", true}, {"", "a", false}, {"a?c", "abc", true}, {"a?c", "ac", false}, {"*a*b*", "xxaxxbxx", true},
		{"*a*b*", "ba", false}, {"a**b", "ab", true}, {"a*", "b", false}, {"[ab]", "a", false}, {"a*b*c", "abxbxc", true}, {"Read", "read", false},
	} {
		assert.Equalf(t, c.want, Match(c.pattern, c.name), "Match(%q, %q)", c.pattern, c.name)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a*b?c", "axxbyc")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		got := Match(pattern, name)
		require.Falsef(t, Match("*"+pattern+"*", "x"+name+"y") != true && got, "%q fits %q, but not with more around both", pattern, name)
		require.Falsef(t, strings.Trim(pattern, "*") == "" && pattern != "" && !got, "%q does not fit %q", pattern, name)
	})
}

func TestFilter(t *testing.T) {
	s := rulesOf(t, `{"mcpServers": {"a": {"command": "x", "includeTools": ["read_*", "list", "wriet_*"], "excludeTools": ["*_secret", "nothing"],
		"tools": {"list": {"rename": "dir", "description": "Lists."}, "read_big": {"enabled": false}, "raed_file": {}}}}}`)
	for tool, want := range map[string]string{
		"read_file": "", "list": "", "read_big": HiddenByEnabled, "read_secret": HiddenByExclude, "write": HiddenByInclude,
	} {
		assert.Equal(t, want, s.Filter.HiddenBy(tool), tool)
	}
	tool, ok := s.Filter.Original("dir")
	assert.True(t, tool == "list" && ok && s.Filter.PublicName("list") == "dir" && s.Filter.Tools["list"].Description == "Lists.", "list is not called dir")
	_, ok = s.Filter.Original("list")
	assert.False(t, ok, "a tool that has another name can be reached under its own")
	got := s.Filter.Unmatched([]string{"read_file", "list", "read_big", "read_secret", "write_file"})
	want := []string{
		"includeTools 'wriet_*' matches no tool; did you mean 'write_*'?",
		"excludeTools 'nothing' matches no tool",
		"tools 'raed_file' matches no tool; did you mean 'read_file'?",
	}
	assert.Empty(t, cmp.Diff(want, got))
	var none *Filter
	if tool, ok := none.Original("x"); none.HiddenBy("x") != "" || none.PublicName("x") != "x" || tool != "x" || !ok || none.Unmatched(nil) != nil {
		t.Error("no filter is not as if there were none")
	}
}
