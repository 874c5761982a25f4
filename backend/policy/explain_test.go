package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExplainMatchesAdmit(t *testing.T) {
	for _, c := range []struct {
		name, server, root, tool string
		passes                   bool
		check, result, key       string
	}{
		{"nothing", ``, ``, "read", true, "approval", Off, ""},
		{"by its new name", `, "tools": {"read": {"rename": "cat"}}`, ``, "cat", true, "offered", Pass, ""},
		{"hidden by a pattern", `, "excludeTools": ["re*"]`, ``, "read", false, "offered", Refuse, "mcpServers.files.excludeTools"},
		{"switched off", `, "tools": {"read": {"enabled": false}}`, ``, "read", false, "offered", Refuse, "mcpServers.files.tools.read.enabled"},
		{"unknown", ``, ``, "nothing", false, "offered", Refuse, ""},
		{"asked", `, "approval": "ask"`, ``, "read", true, "approval", Ask, "mcpServers.files.approval"},
		{"declared harmful in the configuration", `, "approval": "destructive", "tools": {"read": {"annotations": {"readOnlyHint": false}}}`, ``, "read", true, "approval", Ask, "mcpServers.files.approval"},
		{"declared harmless in the configuration", `, "approval": "destructive", "tools": {"put": {"annotations": {"destructiveHint": false}}}`, ``, "put", true, "approval", Pass, "mcpServers.files.approval"},
		{"denied", `, "tools": {"read": {"approval": "deny"}}`, ``, "read", false, "approval", Refuse, "mcpServers.files.tools.read.approval"},
		{"a denied client", ``, `"policy": {"clients": {"cursor": {"approval": "deny"}}}, `, "read", false, "approval", Refuse, "policy.clients.cursor.approval"},
		{"limited", `, "rateLimit": {}`, ``, "read", true, "rate", Pass, "mcpServers.files.rateLimit"},
		{"places", `, "concurrency": {"max": 1}`, ``, "read", true, "concurrency", Pass, "mcpServers.files.concurrency"},
		{"checked", `, "validateInput": "reject"`, ``, "read", true, "input", Pass, "mcpServers.files.validateInput"},
		{"kept", `, "tools": {"read": {"cacheTtlMs": 5}}`, ``, "read", true, "cache", Pass, "mcpServers.files.tools.read.cacheTtlMs"},
		{"checked everywhere", ``, `"policy": {"validateInput": "reject"}, `, "read", true, "input", Pass, "policy.validateInput"},
		{"checked for the tool", `, "tools": {"read": {"validateInput": "reject"}}`, ``, "read", true, "input", Pass, "mcpServers.files.tools.read.validateInput"},
		{"by a preset of the server", `, "policy": {"preset": "strict"}`, ``, "read", true, "rate", Pass, "mcpServers.files.policy.preset"},
		{"by a preset for all", ``, `"policy": {"preset": "strict"}, `, "read", true, "retry", Pass, "policy.preset"},
		{"retried", `, "retry": {"attempts": 2}`, ``, "read", true, "retry", Pass, "mcpServers.files.retry"},
		{"its own time", `, "tools": {"read": {"requestTimeoutMs": 5}}`, ``, "read", true, "timeout", Pass, "mcpServers.files.tools.read.requestTimeoutMs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := withRules(t, c.server, c.root, Options{Approvals: &fakeUser{answer: approvals.Answer{Action: approvals.Accept}}})
			e, err := s.Explain(ExplainRequest{Server: "files", Tool: c.tool, Client: "cursor"})
			require.Truef(t, err == nil && e.Passes == c.passes && len(e.Checks) == 13, "%v %+v", err, e)
			for _, v := range e.Checks {
				assert.NotEmptyf(t, v.Detail, "%s says nothing", v.Name)
				assert.Falsef(t, v.Name == c.check && (v.Result != c.result || v.Key != c.key), "%+v", v)
			}
			made := call(e.Tool, `{"path":"a"}`)
			_, err = s.make(made, "{}", nil)
			assert.Equal(t, e.Passes, err == nil, "explained as")
		})
	}
	s := withRules(t, ``, ``, Options{})
	_, err := s.Explain(ExplainRequest{Server: "gone", Tool: "x"})
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err))
	for range 5 {
		_, _ = s.make(call("read", ""), "", gone)
	}
	e, _ := s.Explain(ExplainRequest{Server: "files", Tool: "read"})
	assert.Truef(t, !e.Passes && e.Checks[9].Result == Refuse, "%+v", e)
}

// An allow rule about folders that seems to apply says why it does not.
func TestExplainSaysWhyFolderRuleIgnoresRelativePath(t *testing.T) {
	dir, err := os.Getwd()
	require.NoError(t, err)
	s := withRules(t, ``, `"policy": {"rules": [{"where": {"/path": {"under": "`+volume+`/notes"}}, "then": "allow"}, {"then": "ask"}]}, `, Options{})
	for path, want := range map[string]bool{"b.txt": true, volume + "/notes/b.txt": false, volume + "/etc/passwd": false} {
		e, err := s.Explain(ExplainRequest{Server: "files", Tool: "read", Arguments: []byte(`{"path":"` + path + `"}`)})
		at := slices.IndexFunc(e.Checks, func(v Verdict) bool { return v.Name == "rules" })
		require.Truef(t, err == nil && at >= 0, "%v %v", err, e)
		if got := e.Checks[at].Detail; strings.Contains(got, `rules[0] (allow) does not apply to the relative path "b.txt", which may be `+filepath.VolumeName(dir)+string(filepath.Separator)) != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestHiddenToolIsNotCallable(t *testing.T) {
	s := withRules(t, `, "includeTools": ["re*", "put"], "excludeTools": ["read"], "tools": {"put": {"rename": "store"}}`, ``, Options{})
	for tool, ok := range map[string]bool{"read": false, "delete": false, "put": true, "store": false} {
		_, err := s.make(call(tool, ""), "{}", nil)
		assert.Truef(t, (err == nil) == ok && !(err != nil && core.CodeOf(err) != core.CodeNotFound), "%s: %v", tool, err)
	}
}

func TestDisabledServerIsReportedToUserOnly(t *testing.T) {
	s := withRules(t, ``, ``, Options{})
	s.views.Configure("", nil) // as if the server was disabled
	made := call("read", "")
	_, err := s.make(made, "{}", nil)
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err), "a client hears of it")
	made.ByUser = true
	_, err = s.make(made, "{}", nil)
	assert.Equal(t, core.CodeUnavailable, core.CodeOf(err), "the user is told")
}

func TestDisabledServerIsCalledDisabled(t *testing.T) {
	for settings, want := range map[string]string{`, "disabled": true`: `server "files" is disabled`, ``: `server "files" has just been added and is not available yet`} {
		s := withRules(t, settings, ``, Options{})
		s.views.Configure("", nil)
		made := call("read", "")
		made.ByUser = true
		_, err := s.make(made, "{}", nil)
		message, _ := core.Describe(err)
		assert.Equalf(t, want, message, "%q", settings)
	}
}
