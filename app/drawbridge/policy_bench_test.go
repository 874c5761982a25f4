package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// noPolicy admits every call and stores nothing.
type noPolicy struct{}

func (noPolicy) Admit(context.Context, *core.Call, core.ServerMessageHandler) (policy.Plan, error) {
	return policy.Plan{Timeout: 30 * time.Second, Ceiling: 10 * time.Minute}, nil
}
func (noPolicy) Readmit(*core.Call, policy.Plan, core.ServerMessageHandler) error { return nil }
func (noPolicy) Watch(ctx context.Context, _ *core.Call, _ policy.Plan, _ core.ServerMessageHandler) (context.Context, func() error) {
	return ctx, func() error { return nil }
}
func (noPolicy) End(policy.Plan, core.Reply, error, bool)                    {}
func (noPolicy) WaitListed(context.Context, string)                          {}
func (noPolicy) Record(*core.Call, core.Reply)                               {}
func (noPolicy) Header() http.Header                                         { return http.Header{} }
func (noPolicy) WriteHeader(int)                                             {}
func (noPolicy) Write(b []byte) (int, error)                                 { return len(b), nil }
func (n noPolicy) For(context.Context, *core.Call) (gateway.Upstream, error) { return n, nil }
func (noPolicy) Send(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
	return core.Reply{Result: []byte(`{"content":[{"type":"text","text":"hello"}]}`)}, nil
}

// BenchmarkCallWithAndWithoutPolicy measures a call from its HTTP request through bridge and
// gateway to a server that responds immediately: without a policy, and with the rules of an empty
// configuration. Rounds of 200 calls alternate so that both run under the same conditions; the
// figures are medians over all rounds.
func BenchmarkCallWithAndWithoutPolicy(b *testing.B) {
	reg := registry.New(registry.Options{})
	reg.Set("math", "math", &core.Catalog{Capabilities: json.RawMessage(`{"tools":{}}`),
		Tools: []core.Item{{Name: "add", Raw: json.RawMessage(`{"name":"add","inputSchema":{"type":"object"}}`)}}})
	rules := policy.New(policy.Options{Views: reg})
	c, problems := config.Parse("c.json", []byte(`{"mcpServers": {"math": {"command": "x"}}}`))
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	rules.Apply(c)
	var turn [2]func()
	for i, p := range []gateway.Policy{noPolicy{}, rules} {
		g := gateway.New(gateway.Options{Upstreams: noPolicy{}, Policy: p, Recorder: noPolicy{}, Bus: new(core.Bus)})
		front := bridge.New(bridge.Options{Registry: reg, Lister: noPolicy{}, Gateway: g})
		header := http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`))
		r.Header = header.Clone()
		front.ServeHTTP(w, r)
		header["Mcp-Session-Id"] = w.Header()["Mcp-Session-Id"]
		body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add","arguments":{"text":"hello"}}}`)
		turn[i] = func() {
			for range 200 {
				r := httptest.NewRequest("POST", "/mcp", nil)
				r.Header = header.Clone()
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				front.ServeHTTP(noPolicy{}, r)
			}
		}
		turn[i]() // warm-up
	}
	var took [2][]float64
	for b.Loop() {
		for i, f := range turn {
			began := time.Now()
			f()
			took[i] = append(took[i], float64(time.Since(began).Nanoseconds())/200)
		}
	}
	median := func(list []float64) float64 { slices.Sort(list); return list[len(list)/2] }
	without, with := median(took[0]), median(took[1])
	b.ReportMetric(without, "ns/without")
	b.ReportMetric(with, "ns/with")
	b.ReportMetric(100*(with-without)/without, "%more")
}
