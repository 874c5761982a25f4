package metrics

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"
)

// collector collects the values that are read at the time of a scrape.
type collector struct{ o Options }

var (
	stateDesc    = prometheus.NewDesc("drawbridge_server_state", "1 for the state that a server is in.", []string{"server", "state"}, nil)
	restartsDesc = prometheus.NewDesc("drawbridge_server_restarts", "Restarts of a server in a row.", []string{"server"}, nil)
	inFlightDesc = prometheus.NewDesc("drawbridge_calls_in_flight", "Calls that are running.", []string{"server"}, nil)
	rssDesc      = prometheus.NewDesc("drawbridge_server_resident_memory_bytes", "Memory of a server's processes.", []string{"server"}, nil)
	cpuDesc      = prometheus.NewDesc("drawbridge_server_cpu_ratio", "CPU of a server's processes, 1 is one core.", []string{"server"}, nil)
	sessionsDesc = prometheus.NewDesc("drawbridge_sessions", "Sessions of clients that are open.", nil, nil)
	queuedDesc   = prometheus.NewDesc("drawbridge_recorder_queue", "Calls waiting for the disk.", nil, nil)
	connsDesc    = prometheus.NewDesc("drawbridge_http_connections", "HTTP connections that are open.", nil, nil)
	breakerDesc  = prometheus.NewDesc("drawbridge_server_breaker_state", "0 while calls go through, 1 while the next one tries, 2 while a server that failed rests.", []string{"server"}, nil)
	writesDesc   = prometheus.NewDesc("drawbridge_store_write_duration_seconds", "How long batches of calls took to write.", nil, nil)
	queriesDesc  = prometheus.NewDesc("drawbridge_store_query_duration_seconds", "How long questions to the history took.", nil, nil)
	droppedDesc  = prometheus.NewDesc("drawbridge_recorder_dropped_total", "Calls that were not recorded.", nil, nil)
)

// Describe implements prometheus.Collector.
func (*collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{stateDesc, restartsDesc, rssDesc, cpuDesc, sessionsDesc, inFlightDesc, queuedDesc, droppedDesc, connsDesc, breakerDesc, writesDesc, queriesDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (l *collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if l.o.Statuses != nil {
		for _, s := range l.o.Statuses() {
			gauge(stateDesc, 1, s.ID, string(s.State))
			gauge(restartsDesc, float64(s.Restarts), s.ID)
			if l.o.Usage == nil {
				continue
			}
			if rss, cpu, ok := l.o.Usage(s.ID); ok {
				gauge(rssDesc, float64(rss), s.ID)
				gauge(cpuDesc, cpu/100, s.ID)
			}
		}
	}
	if l.o.Running != nil {
		running := l.o.Running()
		if l.o.Statuses != nil {
			for _, s := range l.o.Statuses() {
				running[s.ID] += 0 // a server without calls has the value 0 instead of no series
			}
		}
		for server, n := range running {
			gauge(inFlightDesc, float64(n), cmp.Or(server, "none"))
		}
	}
	if l.o.Sessions != nil {
		gauge(sessionsDesc, float64(l.o.Sessions()))
	}
	if l.o.Connections != nil {
		gauge(connsDesc, float64(l.o.Connections()))
	}
	if l.o.Breakers != nil && l.o.Statuses != nil {
		states := l.o.Breakers()
		for _, s := range l.o.Statuses() {
			gauge(breakerDesc, map[string]float64{"half-open": 1, "open": 2}[states[s.ID]], s.ID)
		}
	}
	if l.o.Store != nil {
		writes, queries := l.o.Store()
		ch <- prometheus.MustNewConstHistogram(writesDesc, writes.Count, writes.Total.Seconds(), nil)
		ch <- prometheus.MustNewConstHistogram(queriesDesc, queries.Count, queries.Total.Seconds(), nil)
	}
	if l.o.Recorder != nil {
		queued, dropped := l.o.Recorder()
		gauge(queuedDesc, float64(queued))
		ch <- prometheus.MustNewConstMetric(droppedDesc, prometheus.CounterValue, float64(dropped))
	}
}
