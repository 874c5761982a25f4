package policy

import (
	"context"
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
