package metrics

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	dto "github.com/prometheus/client_model/go"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

func stringAttribute(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func newResource(version string) *resource.Resource {
	id := make([]byte, 8)
	_, _ = rand.Read(id)
	return &resource.Resource{Attributes: []*common.KeyValue{
		stringAttribute("service.name", "drawbridge"), stringAttribute("service.version", version), stringAttribute("service.instance.id", hex.EncodeToString(id)),
	}}
}

// newSpan returns the span of a finished call. It belongs to the client's trace if the client sent
// a trace context, otherwise it starts a new trace.
func newSpan(c *core.Call) *tracepb.Span {
	s := &tracepb.Span{
		Name: c.Method, Kind: tracepb.Span_SPAN_KIND_SERVER,
		StartTimeUnixNano: uint64(c.At.UnixNano()), EndTimeUnixNano: uint64(c.At.Add(c.Took).UnixNano()),
		SpanId: make([]byte, 8), Status: &tracepb.Status{},
	}
	if c.FromServer { // a request from Drawbridge to the client
		s.Kind = tracepb.Span_SPAN_KIND_CLIENT
	}
	_, _ = rand.Read(s.SpanId)
	if id, err := hex.DecodeString(c.TraceID); err == nil && len(id) == 16 {
		s.TraceId = id
		if parent, err := hex.DecodeString(c.SpanID); err == nil && len(parent) == 8 {
			s.ParentSpanId = parent
		}
	} else {
		s.TraceId = make([]byte, 16)
		_, _ = rand.Read(s.TraceId)
	}
	add := func(key, value string) {
		if value != "" {
			s.Attributes = append(s.Attributes, stringAttribute(key, value))
		}
	}
	add("mcp.method.name", c.Method)
	switch c.Method {
	case "tools/call":
		add("tool.name", c.Name)
		add("gen_ai.tool.name", c.PublicName)
		add("gen_ai.operation.name", "execute_tool")
		s.Name += " " + c.PublicName
	case "prompts/get":
		add("gen_ai.prompt.name", c.PublicName)
		s.Name += " " + c.PublicName
	case "resources/read":
		add("mcp.resource.uri", c.Name)
	}
	add("mcp.session.id", c.LegacySession())
	add("mcp.protocol.version", c.Protocol)
	add("project.path", c.Workspace)
	add("drawbridge.server", c.Server)
	add("drawbridge.account", c.Account)
	add("drawbridge.client", cmp.Or(c.Client.Name, c.Client.Token))
	add("drawbridge.outcome", string(c.Outcome))
	if c.Outcome != core.OutcomeOK {
		s.Status.Code, s.Status.Message = tracepb.Status_STATUS_CODE_ERROR, c.Reason
		add("error.type", cmp.Or(string(c.Code), string(c.Outcome)))
	}
	return s
}

func newTracesData(about *resource.Resource, version string, spans []*tracepb.Span) *tracepb.TracesData {
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:   about,
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: scope(version), Spans: spans}},
	}}}
}

func scope(version string) *common.InstrumentationScope {
	return &common.InstrumentationScope{Name: "drawbridge", Version: version}
}

// newMetricsData converts metrics from the Prometheus data model to OTLP, so that both exports have
// the same values.
func newMetricsData(about *resource.Resource, version string, families []*dto.MetricFamily, begun, now time.Time) *metricspb.MetricsData {
	c := converter{uint64(begun.UnixNano()), uint64(now.UnixNano())}
	var list []*metricspb.Metric
	for _, f := range families {
		m := &metricspb.Metric{Name: f.GetName(), Description: f.GetHelp()}
		switch f.GetType() {
		case dto.MetricType_COUNTER:
			points := c.numbers(f, func(one *dto.Metric) float64 { return one.GetCounter().GetValue() })
			m.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{DataPoints: points, IsMonotonic: true, AggregationTemporality: cumulative}}
		case dto.MetricType_GAUGE:
			points := c.numbers(f, func(one *dto.Metric) float64 { return one.GetGauge().GetValue() })
			m.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: points}}
		case dto.MetricType_HISTOGRAM:
			m.Data = &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{DataPoints: c.histograms(f), AggregationTemporality: cumulative}}
		default: // only the Go runtime's summary of GC pauses, which is omitted
			continue
		}
		list = append(list, m)
	}
	return &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
		Resource:     about,
		ScopeMetrics: []*metricspb.ScopeMetrics{{Scope: scope(version), Metrics: list}},
	}}}
}

const cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE

type converter struct{ start, now uint64 }

func (c converter) numbers(f *dto.MetricFamily, value func(*dto.Metric) float64) (points []*metricspb.NumberDataPoint) {
	for _, one := range f.GetMetric() {
		points = append(points, &metricspb.NumberDataPoint{
			Attributes: attributes(one), StartTimeUnixNano: c.start, TimeUnixNano: c.now,
			Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: value(one)},
		})
	}
	return points
}

// histograms converts cumulative buckets to the disjoint buckets of OTLP.
func (c converter) histograms(f *dto.MetricFamily) (points []*metricspb.HistogramDataPoint) {
	for _, one := range f.GetMetric() {
		h := one.GetHistogram()
		p := &metricspb.HistogramDataPoint{
			Attributes: attributes(one), StartTimeUnixNano: c.start, TimeUnixNano: c.now, Count: h.GetSampleCount(), Sum: h.SampleSum,
		}
		below := uint64(0)
		for _, b := range h.GetBucket() {
			p.ExplicitBounds = append(p.ExplicitBounds, b.GetUpperBound())
			p.BucketCounts = append(p.BucketCounts, b.GetCumulativeCount()-below)
			below = b.GetCumulativeCount()
		}
		p.BucketCounts = append(p.BucketCounts, p.Count-below)
		points = append(points, p)
	}
	return points
}

func attributes(one *dto.Metric) (list []*common.KeyValue) {
	for _, l := range one.GetLabel() {
		list = append(list, stringAttribute(l.GetName(), l.GetValue()))
	}
	return list
}
