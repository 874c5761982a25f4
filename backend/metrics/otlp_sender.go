package metrics

import (
	"bytes"
	"context"
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
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

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

// errRejected means that the receiver rejected the request permanently.
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
