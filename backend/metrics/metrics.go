package metrics

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// Options contains functions that provide current values at the time of a scrape. All are required.
type Options struct {
	Statuses func() []core.ServerStatus
	Sessions func() int // number of open client sessions
	// Running returns the number of calls in flight by server. The caller may modify the map.
	Running  func() map[string]int
	Recorder func() (queued int, dropped uint64)
	Store    func() (writes, queries Timing)
	Breakers func() map[string]string // state of each circuit breaker that is not closed, "open" or "half-open", by server
	// Connections returns the number of open HTTP connections.
	Connections func() int
	Usage       func(server string) (rssBytes uint64, cpuPercent float64, ok bool)
}

// Timing is the number and total duration of operations of one kind.
type Timing struct {
	Count uint64
	Total time.Duration
}

// Metrics counts calls, restarts and HTTP requests. It is the http.Handler of /metrics. Its
// methods are safe for concurrent use.
type Metrics struct {
	o           Options
	handler     http.Handler
	registry    *prometheus.Registry
	calls       *prometheus.CounterVec
	took        *prometheus.HistogramVec
	toolCalls   *prometheus.CounterVec
	toolTook    *prometheus.HistogramVec
	restarts    *prometheus.CounterVec
	requests    *prometheus.CounterVec
	requestTook *prometheus.HistogramVec

	tools toolLabels

	mu            sync.Mutex      // guards the fields below
	restartsInRow map[string]int  // consecutive restarts of each server, according to its last status
	servers       map[string]bool // servers that have their own label value
	openTasks     map[int64]bool  // calls whose tasks have not ended, by id; at most maxOpenTasks
}

const maxOpenTasks = 4096

// New returns Metrics without counts.
func New(o Options) *Metrics {
	m := &Metrics{
		o:             o,
		restartsInRow: make(map[string]int),
		servers:       make(map[string]bool),
		openTasks:     make(map[int64]bool),
		calls:         prometheus.NewCounterVec(prometheus.CounterOpts{Name: "drawbridge_calls_total", Help: "Finished calls, by outcome."}, []string{"server", "outcome"}),
		took:          prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "drawbridge_call_duration_seconds", Help: "Duration of calls.", Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}}, []string{"server"}),
		toolCalls:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "drawbridge_tool_calls_total", Help: "Finished tool calls, by outcome. Tools beyond 64 per server or 256 in total, and names of tools that do not exist, are counted as other."}, []string{"server", "tool", "outcome"}),
		toolTook:      prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "drawbridge_tool_call_duration_seconds", Help: "Duration of tool calls.", Buckets: []float64{.01, .1, 1, 10, 60}}, []string{"server", "tool"}),
		restarts:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "drawbridge_server_restarts_total", Help: "Restarts of a server."}, []string{"server"}),
		requests:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "drawbridge_http_requests_total", Help: "HTTP requests served."}, []string{"route", "status"}),
		requestTook:   prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "drawbridge_http_request_duration_seconds", Help: "Duration of HTTP requests.", Buckets: prometheus.DefBuckets}, []string{"route", "status"}),
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.calls, m.took, m.toolCalls, m.toolTook, m.restarts, m.requests, m.requestTook, &collector{o}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry = registry
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return m
}

// ServeHTTP serves the metrics in the Prometheus text format.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// Gather returns the current metrics in the Prometheus data model.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) { return m.registry.Gather() }

// Call counts a finished call. It ignores calls that are still running. A call that created a task
// is counted when the task ends, with the outcome of the request that returned its result.
func (m *Metrics) Call(c core.Call) {
	if c.Outcome == core.OutcomeRunning || c.Method == core.PreviewMethod || c.Task != nil && !m.taskEnded(&c) {
		return
	}
	server := m.serverLabel(&c)
	m.calls.WithLabelValues(server, string(c.Outcome)).Inc()
	m.took.WithLabelValues(server).Observe(c.Took.Seconds())
	if c.Method == "tools/call" {
		tool := m.tools.label(&c)
		m.toolCalls.WithLabelValues(server, tool, string(c.Outcome)).Inc()
		m.toolTook.WithLabelValues(server, tool).Observe(c.Took.Seconds())
	}
}

// serverLabel returns the label value for the server that c called: "none" for a name that is
// neither configured nor has answered, because clients can call names that do not exist.
func (m *Metrics) serverLabel(c *core.Call) string {
	m.mu.Lock()
	known := m.servers[c.Server]
	m.mu.Unlock()
	if known {
		return c.Server
	}
	if c.Server == "" || !hasAnswered(c) && !slices.ContainsFunc(m.o.Statuses(), func(s core.ServerStatus) bool { return s.ID == c.Server }) {
		return "none"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.servers[c.Server] = true
	return c.Server
}

// hasAnswered reports whether the outcome of c is one that only an existing server gives.
func hasAnswered(c *core.Call) bool {
	return c.Outcome == core.OutcomeOK || c.Outcome == core.OutcomeToolError
}

// taskEnded reports whether a call has ended the task of a call that is not counted yet. c becomes
// that call.
func (m *Metrics) taskEnded(c *core.Call) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !c.IsTaskRequest() {
		if len(m.openTasks) >= maxOpenTasks {
			delete(m.openTasks, slices.Min(slices.Collect(maps.Keys(m.openTasks))))
		}
		m.openTasks[c.ID] = true
		return false
	}
	if c.Method == "tasks/cancel" && c.Outcome == core.OutcomeOK {
		c.Outcome = core.OutcomeCancelled
	} else if !c.Task.HasResult && (!c.Task.Ended || c.Outcome == core.OutcomeOK) { // a completed task of 2025-11-25 has its result yet to be fetched
		return false
	}
	if !m.openTasks[c.Task.Call] {
		return false
	}
	delete(m.openTasks, c.Task.Call)
	c.Method, c.Took = "tools/call", c.At.Add(c.Took).Sub(time.UnixMicro(c.Task.Call))
	return true
}

// Request counts an HTTP request. route is the pattern of a route, never a path, so that the
// number of label values is bounded.
func (m *Metrics) Request(route string, status int, took time.Duration) {
	code := "other"
	if status >= 100 && status < 600 {
		code = strconv.Itoa(status)
	}
	m.requests.WithLabelValues(route, code).Inc()
	m.requestTook.WithLabelValues(route, code).Observe(took.Seconds())
}

// Server counts the restarts of a server. A status contains only the number of consecutive
// restarts, so Server adds its increase since the last status.
func (m *Metrics) Server(s core.ServerStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if more := s.Restarts - m.restartsInRow[s.ID]; more > 0 {
		m.restarts.WithLabelValues(s.ID).Add(float64(more))
	} else {
		m.restarts.WithLabelValues(s.ID)
	}
	m.restartsInRow[s.ID] = s.Restarts
}

// Forget deletes the series of a server that is no longer configured.
func (m *Metrics) Forget(server string) {
	match := prometheus.Labels{"server": server}
	m.calls.DeletePartialMatch(match)
	m.took.DeletePartialMatch(match)
	m.toolCalls.DeletePartialMatch(match)
	m.toolTook.DeletePartialMatch(match)
	m.tools.forget(server)
	m.restarts.DeletePartialMatch(match)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.restartsInRow, server)
	delete(m.servers, server)
}

// Event updates the counts from an event.
func (m *Metrics) Event(e core.Event) {
	switch data := e.Data.(type) {
	case core.Call:
		m.Call(data)
	case core.ServerStatus:
		m.Server(data)
	case string:
		if e.Kind == core.RemovedEvent {
			m.Forget(data)
		}
	}
}

// Run handles events until the channel is closed or ctx is done. It always returns nil.
func (m *Metrics) Run(ctx context.Context, events <-chan core.Event) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-events:
			if !ok {
				return nil
			}
			m.Event(e)
		}
	}
}

// Limits of the tools that have their own label value. Tools beyond the limits share the label
// value otherTools of their server.
const (
	maxTools         = 256
	maxToolsOfServer = 64
	maxToolName      = 128 // bytes
	otherTools       = "other"
)

// toolLabels is the set of tools that have their own label value.
type toolLabels struct {
	mu       sync.Mutex // guards the fields below
	byServer map[string]map[string]bool
	count    int
}

// label returns the label value for the tool that c called. Only a tool that returned a result
// gets its own label value, because clients can call names that do not exist.
func (l *toolLabels) label(c *core.Call) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	tools := l.byServer[c.Server]
	if tools[c.Name] {
		return c.Name
	}
	if !hasAnswered(c) || l.count >= maxTools || len(tools) >= maxToolsOfServer || len(c.Name) > maxToolName || !utf8.ValidString(c.Name) {
		return otherTools
	}
	if tools == nil {
		if l.byServer == nil {
			l.byServer = make(map[string]map[string]bool)
		}
		tools = make(map[string]bool)
		l.byServer[c.Server] = tools
	}
	tools[c.Name] = true
	l.count++
	return c.Name
}

func (l *toolLabels) forget(server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count -= len(l.byServer[server])
	delete(l.byServer, server)
}

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
