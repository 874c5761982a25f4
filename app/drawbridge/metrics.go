package main

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/metrics"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// meter serves /metrics while the configuration enables it. It subscribes to the bus when metrics
// are first enabled, so there is no cost while they are disabled.
type meter struct {
	bus     *core.Bus
	counts  func() *metrics.Metrics // creates them
	current func() config.Metrics
	enabled chan struct{}
	once    sync.Once
	// connections is the number of open HTTP connections.
	connections atomic.Int64
}

func newMeter(bus *core.Bus, servers *supervisor.Supervisor, front *bridge.Bridge, history *store.Store, rules *policy.Policy, dialer *upstream.Dialer, calls *gateway.Gateway, current func() config.Metrics) *meter {
	recorder := history.Recorder()
	m := &meter{bus: bus, current: current, enabled: make(chan struct{})}
	m.counts = sync.OnceValue(func() *metrics.Metrics {
		return metrics.New(metrics.Options{
			Statuses: servers.Statuses, Connections: func() int { return int(m.connections.Load()) },
			Breakers: func() map[string]string {
				states := make(map[string]string)
				for _, b := range rules.Breakers() {
					if states[b.Server] != string(policy.BreakerOpen) { // the worst of its accounts
						states[b.Server] = string(b.State)
					}
				}
				return states
			},
			Store: func() (writes, queries metrics.Timing) {
				writes.Count, writes.Total = history.WriteTiming().Read()
				queries.Count, queries.Total = history.QueryTiming().Read()
				return writes, queries
			},
			Sessions: func() int { return len(front.Sessions()) },
			Running: func() map[string]int {
				running := make(map[string]int)
				for _, c := range calls.Running() {
					running[c.Server]++
				}
				return running
			},
			Recorder: func() (int, uint64) {
				s := recorder.Stats()
				return s.Queued, s.Dropped
			},
			Usage: func(server string) (uint64, float64, bool) {
				u, err := dialer.Usage(server)
				return uint64(u.RSS), u.CPU, err == nil
			},
		})
	})
	return m
}

func (m *meter) countConnection(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		m.connections.Add(1)
	case http.StateClosed, http.StateHijacked:
		m.connections.Add(-1)
	}
}

// requests counts HTTP requests by the pattern of their route, once metrics have been enabled.
func (m *meter) requests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-m.enabled:
		default:
			next.ServeHTTP(w, r)
			return
		}
		answer := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		began := time.Now()
		defer func() { m.counts().Request(cmp.Or(r.Pattern, "refused"), answer.status, time.Since(began)) }()
		next.ServeHTTP(answer, r)
	})
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (c *statusRecorder) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Flush implements http.Flusher.
func (c *statusRecorder) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

// Unwrap returns the underlying writer for http.ResponseController.
func (c *statusRecorder) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (m *meter) apply(c config.Metrics) {
	if c.Enabled || c.OTLP.Endpoint != "" && c.OTLP.Metrics {
		m.once.Do(func() { close(m.enabled) })
	}
}

// run counts from the time that metrics are first enabled until ctx is done. If it falls behind the
// bus, it skips the lost events.
func (m *meter) run(ctx context.Context) error {
	select {
	case <-m.enabled:
	case <-ctx.Done():
		return nil
	}
	for ctx.Err() == nil {
		sub := m.bus.Subscribe(8192)
		err := m.counts().Run(ctx, sub.Events())
		sub.Close()
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// Handler returns the handler for Prometheus, or nil while metrics are disabled.
func (m *meter) Handler() http.Handler {
	if !m.current().Enabled {
		return nil
	}
	return m.counts()
}

// Public reports whether /metrics needs no token.
func (m *meter) Public() bool { return m.current().Enabled && m.current().Public }

// telemetry exports traces and metrics while the configuration has a receiver.
type telemetry struct {
	bus     *core.Bus
	counts  *meter
	redact  func(string) string
	log     *slog.Logger
	changed chan config.OTLP // the newest configuration that run has not applied yet
}

func newTelemetry(bus *core.Bus, counts *meter, redact func(string) string, log *slog.Logger) *telemetry {
	return &telemetry{bus: bus, counts: counts, redact: redact, log: log, changed: make(chan config.OTLP, 1)}
}

// apply takes a new configuration. It never blocks.
func (t *telemetry) apply(c config.OTLP) {
	select {
	case <-t.changed:
	default:
	}
	t.changed <- c // never blocks: reload applies one configuration at a time
}

// run exports until ctx is done, each time with the newest configuration.
func (t *telemetry) run(ctx context.Context) error {
	var now config.OTLP
	stop := func() {}
	defer func() { stop() }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case next := <-t.changed:
			if next.Equal(now) {
				continue
			}
			now = next
			stop()
			stop = t.startExport(ctx, now)
		}
	}
}

func (t *telemetry) startExport(ctx context.Context, c config.OTLP) (stop func()) {
	if c.Endpoint == "" || !c.Traces && !c.Metrics {
		return func() {}
	}
	endpoint, err := config.Expand(c.Endpoint, os.LookupEnv)
	headers := make(map[string]string, len(c.Headers))
	for name, value := range c.Headers {
		if err == nil {
			headers[name], err = config.Expand(value, os.LookupEnv)
		}
	}
	if err != nil {
		t.log.Error("Cannot send telemetry", "error", err)
		return func() {}
	}
	o := metrics.SenderOptions{Endpoint: endpoint, Headers: headers, Version: version, Traces: c.Traces, Interval: c.Interval, Redact: t.redact, Log: t.log}
	if c.Metrics {
		o.Gather = t.counts.counts().Gather
	}
	sender := metrics.NewSender(o)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil { // subscribe again after falling behind the bus
			sub := t.bus.Subscribe(8192)
			_ = sender.Run(ctx, sub.Events())
			sub.Close()
		}
	}()
	return func() { cancel(); <-done }
}
