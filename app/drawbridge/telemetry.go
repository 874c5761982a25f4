package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/metrics"
	"github.com/drawbridge-mcp/drawbridge/config"
)

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

// startExport starts the export and returns a function that flushes and stops it.
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
