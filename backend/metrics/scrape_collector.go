package metrics

import (
	"cmp"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/prometheus/client_golang/prometheus"
)

// collector collects the values that are read at the time of a scrape.
type collector struct{ o Options }

var (
	stateDesc    = prometheus.NewDesc("drawbridge_server_state", "1 for the current state of a server.", []string{"server", "state"}, nil)
	restartsDesc = prometheus.NewDesc("drawbridge_server_restarts", "Consecutive restarts of a server.", []string{"server"}, nil)
	inFlightDesc = prometheus.NewDesc("drawbridge_calls_in_flight", "Calls in flight.", []string{"server"}, nil)
	rssDesc      = prometheus.NewDesc("drawbridge_server_resident_memory_bytes", "Memory of a server's processes.", []string{"server"}, nil)
	cpuDesc      = prometheus.NewDesc("drawbridge_server_cpu_ratio", "CPU usage of a server's processes; 1 is one core.", []string{"server"}, nil)
	sessionsDesc = prometheus.NewDesc("drawbridge_sessions", "Open client sessions.", nil, nil)
	queuedDesc   = prometheus.NewDesc("drawbridge_recorder_queue", "Calls waiting to be written to disk.", nil, nil)
	connsDesc    = prometheus.NewDesc("drawbridge_http_connections", "Open HTTP connections.", nil, nil)
	breakerDesc  = prometheus.NewDesc("drawbridge_server_breaker_state", "Circuit breaker: 0 closed (calls go through), 1 half-open (the next call is a test), 2 open (calls to the failed server are rejected).", []string{"server"}, nil)
	writesDesc   = prometheus.NewDesc("drawbridge_store_write_duration_seconds", "Duration of batch writes of calls.", nil, nil)
	queriesDesc  = prometheus.NewDesc("drawbridge_store_query_duration_seconds", "Duration of history queries.", nil, nil)
	droppedDesc  = prometheus.NewDesc("drawbridge_recorder_dropped_total", "Calls that were not recorded.", nil, nil)
)

// breakerStates are the values of drawbridge_server_breaker_state; a closed breaker has none.
var breakerStates = map[string]float64{"half-open": 1, "open": 2}

// Describe implements prometheus.Collector. It sends nothing: which metrics Collect sends depends
// on the servers.
func (*collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (l *collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	running, breakers := l.o.Running(), l.o.Breakers()
	var measured sync.WaitGroup // all at the same time, see api.usageOf
	defer measured.Wait()
	for _, s := range l.o.Statuses() {
		measured.Go(func() { l.collectServer(gauge, s) })
		gauge(breakerDesc, breakerStates[breakers[s.ID]], s.ID)
		running[s.ID] += 0 // a server without calls has the value 0 instead of no series
	}
	for server, n := range running {
		gauge(inFlightDesc, float64(n), cmp.Or(server, "none"))
	}
	gauge(sessionsDesc, float64(l.o.Sessions()))
	gauge(connsDesc, float64(l.o.Connections()))
	writes, queries := l.o.Store()
	ch <- prometheus.MustNewConstHistogram(writesDesc, writes.Count, writes.Total.Seconds(), nil)
	ch <- prometheus.MustNewConstHistogram(queriesDesc, queries.Count, queries.Total.Seconds(), nil)
	queued, dropped := l.o.Recorder()
	gauge(queuedDesc, float64(queued))
	ch <- prometheus.MustNewConstMetric(droppedDesc, prometheus.CounterValue, float64(dropped))
}

func (l *collector) collectServer(gauge func(d *prometheus.Desc, v float64, labels ...string), s core.ServerStatus) {
	gauge(stateDesc, 1, s.ID, string(s.State))
	gauge(restartsDesc, float64(s.Restarts), s.ID)
	if rss, cpu, ok := l.o.Usage(s.ID); ok {
		gauge(rssDesc, float64(rss), s.ID)
		gauge(cpuDesc, cpu/100, s.ID)
	}
}
