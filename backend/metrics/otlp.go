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

// Bounds of what is sent.
const (
	batchSpans  = 512
	maxSpans    = 4096 // that wait; more are dropped and counted
	spanDelay   = 2 * time.Second
	tellEvery   = time.Minute // how often the log hears of what was dropped, at most
	sendLimit   = 10 * time.Second
	stopLimit   = 500 * time.Millisecond
	firstPause  = time.Second
	sendTries   = 4
	answerBytes = 4 << 10 // read of an answer
)

// SenderOptions say what a Sender sends, and where to. Endpoint is needed.
type SenderOptions struct {
	Endpoint string // such as http://127.0.0.1:4318
	Headers  map[string]string
	Version  string // ours
	Traces   bool
	// Gather is what is counted; nil sends no metrics.
	Gather   func() ([]*dto.MetricFamily, error)
	Interval time.Duration       // between two sendings of metrics
	Redact   func(string) string // takes secrets out of names and reasons; nil takes none
	Log      *slog.Logger        // nil: nothing is logged
	HTTP     *http.Client        // nil: one of its own
}

// Sender sends a span for each call that ended, and the metrics, by OTLP over HTTP. It
// looks on from the bus: no call waits for it, and what its receiver does not take in
// time is dropped, counted, and told to the log when the receiver takes something again.
//
// The messages are those of OTLP; their exporters would link gRPC into a program that
// never speaks it.
type Sender struct {
	o       SenderOptions
	about   *resource.Resource
	begun   time.Time
	dropped atomic.Uint64 // spans since the log was last told
	failing atomic.Bool
	pause   time.Duration // before the second try
}

// NewSender makes a Sender.
func NewSender(o SenderOptions) *Sender {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: sendLimit, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the headers are for the address that was configured
		}}
	}
	o.Endpoint = strings.TrimRight(o.Endpoint, "/")
	return &Sender{o: o, about: ourselves(o.Version), begun: time.Now(), pause: firstPause}
}

// Run sends what the events tell until they or ctx end, then what waits, for at most
// half a second.
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

// span is a call without secrets in what is said of it.
func (s *Sender) span(c *core.Call) *tracepb.Span {
	if s.o.Redact != nil {
		c.Name, c.PublicName, c.Reason = s.o.Redact(c.Name), s.o.Redact(c.PublicName), s.o.Redact(c.Reason)
	}
	return spanOf(c)
}

// sendSpans sends what comes in, in batches.
func (s *Sender) sendSpans(ctx context.Context, spans <-chan *tracepb.Span) {
	var batch []*tracepb.Span
	var told time.Time
	tick := time.NewTicker(spanDelay)
	defer tick.Stop()
	flush := func(ctx context.Context) {
		if len(batch) == 0 {
			return
		}
		if err := s.send(ctx, "/v1/traces", tracesOf(s.about, s.o.Version, batch)); err != nil {
			s.dropped.Add(uint64(len(batch)))
		} else if s.dropped.Load() > 0 && time.Since(told) >= tellEvery {
			told = time.Now()
			s.o.Log.Warn("Spans were dropped: their receiver was away or too slow", "endpoint", s.o.Endpoint, "spans", s.dropped.Swap(0))
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
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
			flush(last)
			cancel()
			return
		case <-tick.C:
			flush(ctx)
		}
	}
}

// sendMetrics sends what is counted, each interval and once at the end.
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
			_ = s.send(ctx, "/v1/metrics", metricsOf(s.about, s.o.Version, families, s.begun, time.Now()))
		}
	}
	tick := time.NewTicker(s.o.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
			once(last)
			cancel()
			return
		case <-tick.C:
			once(ctx)
		}
	}
}

// errRefused is an answer that another try would get as well.
var errRefused = errors.New("the receiver refused it")

// send posts one message, again with growing pauses while the receiver is busy or away.
func (s *Sender) send(ctx context.Context, path string, m proto.Message) error {
	body, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	pause := s.pause
	for try := 1; ; try++ {
		if err = s.post(ctx, path, body); err == nil {
			if s.failing.Swap(false) {
				s.o.Log.Info("Telemetry is taken again", "endpoint", s.o.Endpoint)
			}
			return nil
		}
		if try == sendTries || errors.Is(err, errRefused) || ctx.Err() != nil {
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
	if ctx.Err() == nil && !s.failing.Swap(true) { // once, until it works again
		s.o.Log.Warn("Cannot send telemetry", "endpoint", s.o.Endpoint, "error", err)
	}
	return err
}

func (s *Sender) post(ctx context.Context, path string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.o.Endpoint+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
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
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, answerBytes))
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("the receiver answered %s", resp.Status)
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%w: %s", errRefused, resp.Status)
	}
	return nil
}
