package metrics

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	dto "github.com/prometheus/client_model/go"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
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

// Limits of the export.
const (
	batchSpans       = 512
	maxSpans         = 4096 // queued spans; further ones are dropped and counted
	spanDelay        = 2 * time.Second
	dropLogInterval  = time.Minute // minimum interval of log entries about dropped spans
	sendTimeout      = 10 * time.Second
	stopTimeout      = 500 * time.Millisecond
	sendAttempts     = 4       // attempts to send one batch
	maxResponseBytes = 4 << 10 // maximum bytes read of a response
)

// SenderOptions configures a Sender. Only Gather is optional.
type SenderOptions struct {
	Endpoint string // base URL, such as http://127.0.0.1:4318
	Headers  map[string]string
	Version  string // version of Drawbridge
	Traces   bool
	// Gather returns the metrics to send; nil sends no metrics.
	Gather   func() ([]*dto.MetricFamily, error)
	Interval time.Duration       // interval of sending metrics
	Redact   func(string) string // removes secrets from names and reasons
	Log      *slog.Logger
}

// Sender exports a span for each finished call, and the metrics, over OTLP/HTTP with protobuf
// encoding. It observes the event bus, so calls do not wait for it. A batch of spans that the
// receiver does not accept is sent again; spans that it does not accept in time are dropped and
// counted, and the count is logged when it accepts spans again.
//
// It builds the OTLP messages itself, because the OpenTelemetry exporters would link gRPC into the
// program.
type Sender struct {
	o         SenderOptions
	http      *http.Client
	resource  *resource.Resource
	startedAt time.Time
	spanDelay time.Duration
	dropped   atomic.Uint64 // spans dropped since the last log entry

	// The fields below are accessed only by sendQueued.
	batch      []*tracepb.Span
	attempts   int // failed attempts to send batch
	failing    bool
	dropLogged time.Time
}

// NewSender returns a Sender. Its Run must be called.
func NewSender(o SenderOptions) *Sender {
	o.Endpoint = strings.TrimRight(o.Endpoint, "/")
	client := &http.Client{Timeout: sendTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the headers, which may contain credentials, are only for the configured address
	}}
	return &Sender{o: o, http: client, resource: newResource(o.Version), startedAt: time.Now(), spanDelay: spanDelay}
}

// Run exports events until the channel is closed or ctx is done. It then sends what is queued, for
// at most half a second, and returns nil.
func (s *Sender) Run(ctx context.Context, events <-chan core.Event) error {
	ctx, cancel := context.WithCancel(ctx)
	spans := make(chan *tracepb.Span, maxSpans)
	sent := make(chan struct{})
	go func() { defer close(sent); s.sendQueued(ctx, spans) }()
	defer func() { close(spans); cancel(); <-sent }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-events:
			if !ok {
				return nil
			}
			c, isCall := e.Data.(core.Call)
			if !isCall || c.Outcome == core.OutcomeRunning || !s.o.Traces {
				continue
			}
			c.Name, c.PublicName, c.Reason = s.o.Redact(c.Name), s.o.Redact(c.PublicName), s.o.Redact(c.Reason)
			select {
			case spans <- newSpan(&c):
			default:
				s.dropped.Add(1)
			}
		}
	}
}

// sendQueued sends the spans of the channel in batches, and the metrics at each interval. When ctx
// is done, it sends both for a last time, with all spans until the channel is closed.
func (s *Sender) sendQueued(ctx context.Context, spans <-chan *tracepb.Span) {
	flush := time.NewTicker(s.spanDelay)
	defer flush.Stop()
	scrape := time.NewTicker(max(s.o.Interval, time.Millisecond))
	defer scrape.Stop()
	for ctx.Err() == nil {
		queue := spans
		if len(s.batch) == batchSpans { // the receiver did not accept the last batch
			queue = nil
		}
		select {
		case <-ctx.Done():
		case one := <-queue:
			if s.batch = append(s.batch, one); len(s.batch) == batchSpans {
				s.sendBatch(ctx)
			}
		case <-flush.C:
			s.sendBatch(ctx)
		case <-scrape.C:
			s.sendMetrics(ctx)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	for one := range spans {
		if len(s.batch) == batchSpans {
			s.sendBatch(last)
		}
		s.batch = append(s.batch, one)
	}
	s.sendBatch(last)
	s.sendMetrics(last)
}

// sendBatch sends the batch. It keeps the batch if the receiver may accept it later.
func (s *Sender) sendBatch(ctx context.Context) {
	if len(s.batch) == 0 {
		return
	}
	err := s.send(ctx, "/v1/traces", newTracesData(s.resource, s.o.Version, s.batch))
	if err != nil {
		s.attempts++
		if !errors.Is(err, errRejected) && s.attempts < sendAttempts {
			return
		}
		s.dropped.Add(uint64(len(s.batch)))
	} else if s.dropped.Load() > 0 && time.Since(s.dropLogged) >= dropLogInterval {
		s.dropLogged = time.Now()
		s.o.Log.Warn("Spans were dropped: the receiver was unreachable or too slow", "endpoint", s.o.Endpoint, "spans", s.dropped.Swap(0))
	}
	s.batch, s.attempts = s.batch[:0], 0
}

func (s *Sender) sendMetrics(ctx context.Context) {
	if s.o.Gather == nil {
		return
	}
	families, err := s.o.Gather()
	if err != nil {
		s.o.Log.Debug("Cannot gather metrics", "error", err)
	}
	if len(families) > 0 {
		_ = s.send(ctx, "/v1/metrics", newMetricsData(s.resource, s.o.Version, families, s.startedAt, time.Now()))
	}
}

var errRejected = errors.New("the receiver rejected it")

// send posts one message. It logs the first failure in a row, and the first success after it.
func (s *Sender) send(ctx context.Context, path string, m proto.Message) error {
	body, err := proto.Marshal(m)
	if err == nil {
		err = s.post(ctx, path, body)
	}
	switch {
	case err == nil && s.failing:
		s.o.Log.Info("Telemetry is being sent again", "endpoint", s.o.Endpoint)
	case err != nil && !s.failing && ctx.Err() == nil:
		s.o.Log.Warn("Cannot send telemetry", "endpoint", s.o.Endpoint, "error", err)
	}
	s.failing = err != nil
	return err
}

func (s *Sender) post(ctx context.Context, path string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.o.Endpoint+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", errRejected, err)
	}
	for name, value := range s.o.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := s.http.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxResponseBytes))
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("the receiver responded with %s", resp.Status)
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%w: %s", errRejected, resp.Status)
	}
	return nil
}
