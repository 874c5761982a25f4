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
	"github.com/drawbridge-mcp/drawbridge/backend/event"

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
	firstBackoff     = time.Second
	sendAttempts     = 4
	maxResponseBytes = 4 << 10 // maximum bytes read of a response
)

// SenderOptions configures a Sender. Endpoint is required, and Interval if Gather is set.
type SenderOptions struct {
	Endpoint string // base URL, such as http://127.0.0.1:4318
	Headers  map[string]string
	Version  string // version of Drawbridge
	Traces   bool
	// Gather returns the metrics to send; nil sends no metrics.
	Gather   func() ([]*dto.MetricFamily, error)
	Interval time.Duration       // interval of sending metrics
	Redact   func(string) string // removes secrets from names and reasons; nil removes nothing
	Log      *slog.Logger        // nil: nothing is logged
	HTTP     *http.Client        // nil: a client with a timeout that does not follow redirects
}

// Sender exports a span for each finished call, and the metrics, over OTLP/HTTP with protobuf
// encoding. It observes the event bus, so calls do not wait for it. Spans that the receiver does
// not accept in time are dropped and counted; the count is logged when the receiver accepts spans
// again.
//
// It builds the OTLP messages itself, because the OpenTelemetry exporters would link gRPC into the
// program.
type Sender struct {
	o         SenderOptions
	resource  *resource.Resource
	startedAt time.Time
	dropped   atomic.Uint64 // spans dropped since the last log entry
	failing   atomic.Bool
	backoff   time.Duration // backoff before the second attempt
}

// NewSender returns a Sender. Its Run must be called.
func NewSender(o SenderOptions) *Sender {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: sendTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the headers, which may contain credentials, are only for the configured address
		}}
	}
	o.Endpoint = strings.TrimRight(o.Endpoint, "/")
	return &Sender{o: o, resource: newResource(o.Version), startedAt: time.Now(), backoff: firstBackoff}
}

// Run exports events until the channel is closed or ctx is done. It then sends what is queued, for
// at most half a second, and returns nil.
func (s *Sender) Run(ctx context.Context, events <-chan event.Event) error {
	spans := make(chan *tracepb.Span, maxSpans)
	sent := make(chan struct{})
	go func() { defer close(sent); s.sendSpans(ctx, spans) }()
	counted := make(chan struct{})
	go func() { defer close(counted); s.sendMetrics(ctx) }()
	defer func() { close(spans); <-sent; <-counted }()
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
			select {
			case spans <- s.span(&c):
			default:
				s.dropped.Add(1)
			}
		}
	}
}

// span returns the span of a call, redacted.
func (s *Sender) span(c *core.Call) *tracepb.Span {
	if s.o.Redact != nil {
		c.Name, c.PublicName, c.Reason = s.o.Redact(c.Name), s.o.Redact(c.PublicName), s.o.Redact(c.Reason)
	}
	return newSpan(c)
}

// sendSpans sends the spans of the channel in batches, until the channel is closed.
func (s *Sender) sendSpans(ctx context.Context, spans <-chan *tracepb.Span) {
	var batch []*tracepb.Span
	var told time.Time
	tick := time.NewTicker(spanDelay)
	defer tick.Stop()
	flush := func(ctx context.Context) {
		if len(batch) == 0 {
			return
		}
		if err := s.send(ctx, "/v1/traces", newTracesData(s.resource, s.o.Version, batch)); err != nil {
			s.dropped.Add(uint64(len(batch)))
		} else if s.dropped.Load() > 0 && time.Since(told) >= dropLogInterval {
			told = time.Now()
			s.o.Log.Warn("Spans were dropped: the receiver was unreachable or too slow", "endpoint", s.o.Endpoint, "spans", s.dropped.Swap(0))
		}
		batch = batch[:0]
	}
	for {
		select {
		case one, open := <-spans:
			if open {
				if batch = append(batch, one); len(batch) == batchSpans {
					flush(ctx)
				}
				continue
			}
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			flush(last)
			cancel()
			return
		case <-tick.C:
			flush(ctx)
		}
	}
}

// sendMetrics sends the metrics at each interval, and a last time when ctx is done.
func (s *Sender) sendMetrics(ctx context.Context) {
	if s.o.Gather == nil {
		return
	}
	once := func(ctx context.Context) {
		families, err := s.o.Gather()
		if err != nil {
			s.o.Log.Debug("Cannot gather metrics", "error", err)
		}
		if len(families) > 0 {
			_ = s.send(ctx, "/v1/metrics", convertMetrics(s.resource, s.o.Version, families, s.startedAt, time.Now()))
		}
	}
	tick := time.NewTicker(s.o.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			once(last)
			cancel()
			return
		case <-tick.C:
			once(ctx)
		}
	}
}

// errRejected means that the receiver rejected the request permanently.
var errRejected = errors.New("the receiver refused it")

// send posts one message. It retries with exponential backoff while the receiver is unreachable or
// overloaded, as the OTLP specification requires.
func (s *Sender) send(ctx context.Context, path string, m proto.Message) error {
	body, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	pause := s.backoff
	for try := 1; ; try++ {
		if err = s.post(ctx, path, body); err == nil {
			if s.failing.Swap(false) {
				s.o.Log.Info("Sending telemetry again", "endpoint", s.o.Endpoint)
			}
			return nil
		}
		if try == sendAttempts || errors.Is(err, errRejected) || ctx.Err() != nil {
			break
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			pause *= 2
		case <-ctx.Done():
			timer.Stop()
		}
	}
	if ctx.Err() == nil && !s.failing.Swap(true) { // log only the first failure in a row
		s.o.Log.Warn("Cannot send telemetry", "endpoint", s.o.Endpoint, "error", err)
	}
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
	resp, err := s.o.HTTP.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxResponseBytes))
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("the receiver answered %s", resp.Status)
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%w: %s", errRejected, resp.Status)
	}
	return nil
}
