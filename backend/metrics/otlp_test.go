package metrics

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver takes OTLP over HTTP. It is away for the first few requests.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	away    int
	spans   []*tracepb.Span
	about   []*common.KeyValue
	metrics map[string]*metricspb.Metric
	wrong   []string
}

func newReceiver(t *testing.T, away int) *receiver {
	r := &receiver{away: away, metrics: map[string]*metricspb.Metric{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serveOTLP))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serveOTLP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away > 0 {
		r.away--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if q.Header.Get("Content-Type") != "application/x-protobuf" || q.Header.Get("X-Key") != "k" || q.Method != "POST" {
		r.wrong = append(r.wrong, q.Method+" "+q.URL.Path)
	}
	switch q.URL.Path {
	case "/v1/traces":
		var data tracepb.TracesData
		if proto.Unmarshal(body, &data) != nil || len(data.ResourceSpans) != 1 {
			r.wrong = append(r.wrong, "traces")
			return
		}
		r.about = data.ResourceSpans[0].Resource.Attributes
		r.spans = append(r.spans, data.ResourceSpans[0].ScopeSpans[0].Spans...)
	case "/v1/metrics":
		var data metricspb.MetricsData
		if proto.Unmarshal(body, &data) != nil || len(data.ResourceMetrics) != 1 {
			r.wrong = append(r.wrong, "metrics")
			return
		}
		for _, m := range data.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			r.metrics[m.Name] = m
		}
	default:
		r.wrong = append(r.wrong, q.URL.Path)
	}
}

func (r *receiver) seen(f func() bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return f()
}

func values(list []*common.KeyValue) map[string]string {
	m := map[string]string{}
	for _, one := range list {
		m[one.Key] = one.Value.GetStringValue()
	}
	return m
}

// syncBuffer is a log that may be read while it is written.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *syncBuffer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *syncBuffer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestReceiverGetsSpansAndMetrics(t *testing.T) {
	to := newReceiver(t, 2) // it comes up late
	m := newMetrics()
	s := NewSender(SenderOptions{
		Endpoint: to.URL + "/", Headers: map[string]string{"X-Key": "k"}, Version: "1.2", Traces: true,
		Gather: m.Gather, Interval: 20 * time.Millisecond, Redact: strings.TrimSpace, Log: slog.New(slog.DiscardHandler),
	})
	s.spanDelay = 50 * time.Millisecond
	var bus core.Bus
	sub := bus.Subscribe(100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, sub.Events()) }()

	at := time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)
	ended := &core.Call{
		ID: 1, At: at, Took: 1500 * time.Microsecond, Method: "tools/call", Name: "read", PublicName: "files__read", Server: "files",
		Client: core.Client{Name: "cursor"}, Session: "s1", Workspace: "/home/me/project", Protocol: core.LegacyVersion,
		TraceID: "0123456789abcdef0123456789abcdef", SpanID: "0123456789abcdef",
	}
	bus.PublishCall(ended) // it began: no span yet
	ended.Outcome = core.OutcomeOK
	failed := &core.Call{ID: 2, At: at, Method: "tools/call", Name: "x", PublicName: "x", Outcome: core.OutcomeRejected, Code: core.CodeTimeout, Reason: "too late"}
	wrong := &core.Call{ID: 3, At: at, Method: "resources/read", Name: "file:///a", Outcome: core.OutcomeToolError}
	for _, c := range []*core.Call{ended, failed, wrong} {
		bus.PublishCall(c)
		copied := *c
		m.Call(copied)
	}
	eventually.True(t, "metrics with the calls", func() bool {
		return to.seen(func() bool {
			sum := to.metrics["drawbridge_calls_total"].GetSum()
			return len(sum.GetDataPoints()) == 3
		})
	})
	cancel() // what waits is sent at once
	err := <-done
	require.NoError(t, err)
	to.mu.Lock()
	defer to.mu.Unlock()
	if len(to.wrong) > 0 || len(to.spans) != 3 || s.dropped.Load() != 0 {
		t.Fatalf("%v wrong, %d spans, %d dropped", to.wrong, len(to.spans), s.dropped.Load())
	}
	about := values(to.about)
	assert.Truef(t, about["service.name"] == "drawbridge" && about["service.version"] == "1.2", "we say of ourselves %v", about)
	one := to.spans[0]
	got := values(one.Attributes)
	for key, want := range map[string]string{
		"tool.name": "read", "gen_ai.tool.name": "files__read", "mcp.method.name": "tools/call", "mcp.session.id": "s1",
		"mcp.protocol.version": core.LegacyVersion, "project.path": "/home/me/project", "error.type": "",
	} {
		assert.Equal(t, want, got[key])
	}
	if hex.EncodeToString(one.TraceId) != ended.TraceID || hex.EncodeToString(one.ParentSpanId) != ended.SpanID || len(one.SpanId) != 8 ||
		one.StartTimeUnixNano != uint64(at.UnixNano()) || one.EndTimeUnixNano-one.StartTimeUnixNano != 1_500_000 || one.Kind != tracepb.Span_SPAN_KIND_SERVER {
		t.Errorf("the span is %v", one)
	}
	if two := to.spans[1]; values(two.Attributes)["error.type"] != "timeout" || two.Status.Code != tracepb.Status_STATUS_CODE_ERROR || len(two.TraceId) != 16 || len(two.ParentSpanId) != 0 {
		t.Errorf("the span of a refused call is %v", two)
	}
	if three := to.spans[2]; values(three.Attributes)["error.type"] != "tool_error" || values(three.Attributes)["mcp.resource.uri"] != "file:///a" {
		t.Errorf("the span of a failed call is %v", three)
	}
	h := to.metrics["drawbridge_call_duration_seconds"].GetHistogram()
	require.NotNil(t, h)
	require.Len(t, h.DataPoints, 2)
	for _, p := range h.DataPoints {
		total := uint64(0)
		for _, n := range p.BucketCounts {
			total += n
		}
		require.Equal(t, p.Count, total, "buckets do not add up")
		require.Len(t, p.BucketCounts, len(p.ExplicitBounds)+1, "buckets do not add up")
	}
	assert.NotNil(t, to.metrics["go_goroutines"].GetGauge(), "a gauge is missing")
}

// TestUnreachableReceiverDelaysNoCall fills the queue of a Sender whose receiver never answers.
// Once it answers, the log says how many spans that cost.
func TestUnreachableReceiverDelaysNoCall(t *testing.T) {
	block := make(chan struct{})
	free := sync.OnceFunc(func() { close(block) })
	to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-block:
		case <-r.Context().Done():
		}
	}))
	defer to.Close()
	defer free()
	var log syncBuffer
	s := NewSender(SenderOptions{Endpoint: to.URL, Traces: true, Interval: time.Hour, Redact: strings.TrimSpace, Log: slog.New(slog.NewTextHandler(&log, nil))})
	events := make(chan core.Event)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, events) }()
	const n = 2*maxSpans + batchSpans
	for i := range n {
		select {
		case events <- core.Event{Kind: core.CallEvent, Data: core.Call{ID: int64(i), Outcome: core.OutcomeOK}}:
		case <-time.After(20 * time.Second):
			t.Fatalf("event %d is not taken", i)
		}
	}
	lost := s.dropped.Load()
	assert.NotEqualValues(t, 0, lost, "nothing was dropped, so something grows without end")
	free()
	eventually.True(t, "what the log says of it", func() bool {
		told := regexp.MustCompile(`spans=(\d+)\n`).FindStringSubmatch(log.String())
		if told == nil {
			return false
		}
		n, err := strconv.ParseUint(told[1], 10, 64)
		return err == nil && n >= lost
	})
	cancel()
	eventually.Receive(t, 20*time.Second, "it does not end", done)
}
