package main

import (
	"context"
	"net/http"
	"sync"

	"drawbridge/backend/bridge"
	"drawbridge/backend/event"
	"drawbridge/backend/metrics"
	"drawbridge/backend/store"
	"drawbridge/backend/supervisor"
	"drawbridge/config"
)

// meter serves /metrics while the configuration says so. It listens to the bus from
// the first time that metrics are enabled on; who never enables them pays nothing.
type meter struct {
	bus     *event.Bus
	counts  *metrics.Metrics
	current func() config.Metrics
	enabled chan struct{}
	once    sync.Once
}

func newMeter(bus *event.Bus, servers *supervisor.Supervisor, front *bridge.Bridge, recorder *store.Recorder, dialer *supervisor.Dialer, current func() config.Metrics) *meter {
	return &meter{
		bus: bus, current: current, enabled: make(chan struct{}),
		counts: metrics.New(metrics.Options{
			Statuses: servers.Statuses,
			Sessions: func() int { return len(front.Sessions()) },
			Recorder: func() (int, uint64) {
				s := recorder.Stats()
				return s.Queued, s.Dropped
			},
			Usage: func(server string) (uint64, float64, bool) {
				u, err := dialer.Usage(server)
				return uint64(u.RSS), u.CPU, err == nil
			},
		}),
	}
}

// apply takes a new configuration.
func (m *meter) apply(c config.Metrics) {
	if c.Enabled || c.OTLP.Endpoint != "" && c.OTLP.Metrics {
		m.once.Do(func() { close(m.enabled) })
	}
}

// run counts from the first time that metrics are enabled until ctx ends. When it
// falls behind the bus it goes on with what comes next.
func (m *meter) run(ctx context.Context) error {
	select {
	case <-m.enabled:
	case <-ctx.Done():
		return nil
	}
	for ctx.Err() == nil {
		sub := m.bus.Subscribe(8192)
		err := m.counts.Run(ctx, sub.Events())
		sub.Close()
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// Handler answers Prometheus; nil while metrics are not enabled.
func (m *meter) Handler() http.Handler {
	if !m.current().Enabled {
		return nil
	}
	return m.counts
}

// Public reports whether no token is asked for.
func (m *meter) Public() bool { return m.current().Enabled && m.current().Public }
