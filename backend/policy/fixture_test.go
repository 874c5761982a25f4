package policy

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testPolicy is a Policy with one server that offers tools with different hints.
type testPolicy struct {
	*Policy
	t     testing.TB
	views *registry.Registry
}

const catalog = `[
	{"name":"read","inputSchema":{"type":"object","required":["path"],"properties":{"path":{"type":"string","maxLength":5},"n":{"type":"integer"},"how":{"enum":["a","b"]}},"additionalProperties":false},"annotations":{"readOnlyHint":true}},
	{"name":"put","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true,"destructiveHint":false}},
	{"name":"delete","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}},
	{"name":"odd","inputSchema":{"$ref":"file:///etc/passwd"}},
	{"name":"plain"}
]`

// withRules returns a testPolicy for a configuration with the given keys of the server "files" and
// of the root.
func withRules(t testing.TB, server, root string, o Options) *testPolicy {
	t.Helper()
	s := &testPolicy{t: t, views: registry.New(registry.Options{})}
	o.Views = s.views
	s.Policy = New(o)
	s.apply(server, root)
	var raws []json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(catalog), &raws))
	c := &core.Catalog{}
	for _, raw := range raws {
		var tool struct{ Name string }
		_ = json.Unmarshal(raw, &tool)
		c.Tools = append(c.Tools, core.Item{Name: tool.Name, Raw: raw})
	}
	s.views.Set("files", "", c)
	return s
}

func (s *testPolicy) apply(server, root string) {
	s.t.Helper()
	if server = strings.TrimPrefix(server, ","); !strings.Contains(server, `"command":`) {
		server = strings.TrimSuffix(`"command": "x", `+server, ", ")
	}
	c, problems := config.Parse("c.json", []byte(`{`+root+`"mcpServers": {"files": {`+server+`}}}`))
	if c == nil || config.HasErrors(problems) {
		s.t.Fatal(problems)
	}
	s.Apply(c)
	s.views.Configure("", []registry.Server{{ID: "files", Filter: c.Servers[0].Filter}})
}

func call(tool, arguments string) *core.Call {
	c := &core.Call{ID: 7, Server: "files", Method: "tools/call", Name: tool, Client: core.Client{Token: "cursor", Name: "Cursor"}}
	if arguments != "" {
		c.Params = json.RawMessage(`{"name":"` + tool + `","arguments":` + arguments + `}`)
		c.Arguments.Start = len(`{"name":"` + tool + `","arguments":`)
		c.Arguments.End = c.Arguments.Start + len(arguments)
	}
	return c
}

// make admits a call and ends it with reply or err.
func (s *testPolicy) make(c *core.Call, reply string, err error) (Plan, error) {
	plan, refused := s.Admit(context.Background(), c, nil)
	if refused == nil {
		s.End(plan, core.Reply{Result: json.RawMessage(reply)}, err, true)
	}
	return plan, refused
}

// fakeUser gives the same answer to every question, after a delay.
type fakeUser struct {
	answer approvals.Answer
	after  time.Duration
	asked  []approvals.Item
}

func (p *fakeUser) Ask(ctx context.Context, item approvals.Item) (approvals.Answer, error) {
	p.asked = append(p.asked, item)
	select {
	case <-time.After(p.after):
		return p.answer, nil
	case <-ctx.Done():
		return approvals.Answer{}, context.Cause(ctx)
	}
}

var (
	gone = &core.Error{Code: core.CodeUnavailable, Message: "gone", Retriable: true}
	late = &core.Error{Code: core.CodeTimeout, Message: "late", Retriable: true}
)
