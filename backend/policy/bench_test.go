package policy

import (
	"context"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// BenchmarkAdmit measures the cost per call without configuration and with all kinds of checks.
func BenchmarkAdmit(b *testing.B) {
	for name, server := range map[string]string{
		"nothing":    ``,
		"no breaker": `, "breaker": {"failures": 0}`,
		"everything": `, "rateLimit": {"perSecond": 1000000, "burst": 1000000}, "concurrency": {"max": 100}, "validateInput": "reject", "approval": "destructive", "retry": {"attempts": 3}`,
		"cache":      `, "tools": {"read": {"cacheTtlMs": 3600000}}`,
	} {
		b.Run(name, func(b *testing.B) {
			s := withRules(b, server, ``, Options{})
			c, ctx := call("read", `{"path":"a","n":1}`), context.Background()
			reply := core.Reply{Result: []byte(`{"content":[]}`)}
			b.ReportAllocs()
			for b.Loop() {
				plan, err := s.Admit(ctx, c, nil)
				if err != nil {
					b.Fatal(err)
				}
				s.End(plan, reply, nil, true)
			}
		})
	}
}

// BenchmarkArgumentRules measures ten argument rules, none of which applies.
func BenchmarkArgumentRules(b *testing.B) {
	rules := make([]string, 10)
	for i := range rules {
		rules[i] = []string{
			`{"tool": "files__*", "where": {"/path": {"under": "/etc"}}, "then": "deny"}`,
			`{"tool": "files__read", "where": {"/path": {"glob": "*.key"}}, "then": "ask"}`,
			`{"where": {"/path": {"matches": "^/(proc|sys)/"}}, "then": "deny"}`,
			`{"where": {"/url": {"host": "*.internal"}}, "then": "deny"}`,
			`{"tool": "github__*", "then": "ask"}`,
		}[i%5]
	}
	s := withRules(b, ``, `"policy": {"rules": [`+strings.Join(rules, ",")+`]}, `, Options{})
	c, ctx := call("read", `{"path":"/usr/share/doc/readme.txt","n":1}`), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		plan, err := s.Admit(ctx, c, nil)
		if err != nil {
			b.Fatal(err)
		}
		s.End(plan, core.Reply{Result: []byte(`{}`)}, nil, true)
	}
}
