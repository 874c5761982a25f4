//go:build e2e

package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// Prometheus' own parser reads /metrics, and an OTLP receiver gets spans, with the client's trace
// as their parent, and the same metrics.
func TestMetricsAndTracesAreExported(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var spans []*tracepb.Span
	sent := map[string]bool{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		var traces tracepb.TracesData
		var metrics metricspb.MetricsData
		switch {
		case r.Header.Get("X-Key") != "from-the-environment":
			t.Errorf("headers %v", r.Header)
		case r.URL.Path == "/v1/traces" && proto.Unmarshal(body, &traces) == nil:
			spans = append(spans, traces.ResourceSpans[0].ScopeSpans[0].Spans...)
		case r.URL.Path == "/v1/metrics" && proto.Unmarshal(body, &metrics) == nil:
			for _, m := range metrics.ResourceMetrics[0].ScopeMetrics[0].Metrics {
				sent[m.Name] = true
			}
		}
	}))
	defer receiver.Close()
	d := start(t, object{
		"metrics":    object{"enabled": true, "otlp": object{"endpoint": receiver.URL, "headers": object{"X-Key": "${OTLP_KEY}"}, "intervalMs": 1000}},
		"mcpServers": object{"demo": demo()},
	}, "OTLP_KEY=from-the-environment")
	d.running("demo")
	c := &rawClient{t: t, url: d.url + "/mcp", token: d.token("cursor")}
	c.initialize()
	c.post("tools/call", "", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"x"},"_meta":{"traceparent":"00-0123456789abcdef0123456789abcdef-fedcba9876543210-01"}}}`)
	eventually.TrueWithin(t, limit(15e9), "no span or no metrics arrived", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(spans) != 0 && sent["drawbridge_calls_total"]
	})
	mu.Lock()
	span := spans[0]
	got := map[string]string{}
	for _, a := range span.Attributes {
		got[a.Key] = a.Value.GetStringValue()
	}
	mu.Unlock()
	for key, want := range map[string]string{"tool.name": "echo", "gen_ai.tool.name": "demo__echo", "mcp.method.name": "tools/call", "mcp.session.id": c.session, "mcp.protocol.version": "2025-11-25"} {
		assert.Equal(t, want, got[key])
	}
	require.Equal(t, "\xfe\xdc\xba\x98\x76\x54\x32\x10", string(span.ParentSpanId), "the client's trace is not its parent")
	require.EqualValues(t, 1, span.TraceId[0], "the client's trace is not its parent")

	_, text := d.do("GET", "/metrics", nil)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	for _, name := range []string{"drawbridge_calls_total", "drawbridge_call_duration_seconds", "drawbridge_calls_in_flight", "drawbridge_http_requests_total",
		"drawbridge_http_request_duration_seconds", "drawbridge_http_connections", "drawbridge_sessions", "drawbridge_server_restarts", "drawbridge_server_breaker_state",
		"drawbridge_recorder_queue", "drawbridge_recorder_dropped_total", "drawbridge_store_write_duration_seconds", "drawbridge_store_query_duration_seconds",
		"drawbridge_server_restarts_total", "drawbridge_server_resident_memory_bytes", "drawbridge_server_cpu_ratio", "drawbridge_server_state",
		"drawbridge_tool_calls_total", "drawbridge_tool_call_duration_seconds"} {
		assert.NotEmpty(t, families[name].GetMetric(), "/metrics has no")
	}
	assert.NotContains(t, text, c.session, "a label has as many values as there are sessions or public names")
	assert.NotContains(t, text, "demo__echo", "a label has as many values as there are sessions or public names")
}
