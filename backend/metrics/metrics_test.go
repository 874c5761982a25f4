package metrics

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newMetrics() *Metrics {
	return New(Options{
		Statuses: func() []core.ServerStatus {
			return []core.ServerStatus{{ID: "files", State: core.StateRunning, Restarts: 2}}
		},
		Sessions:    func() int { return 3 },
		Connections: func() int { return 2 },
		Running:     func() map[string]int { return map[string]int{"git": 1} },
		Breakers:    func() map[string]string { return map[string]string{"files": "open"} },
		Store:       func() (writes, queries Timing) { return Timing{1, time.Second}, Timing{} },
		Recorder:    func() (int, uint64) { return 4, 5 },
		Usage:       func(string) (uint64, float64, bool) { return 1 << 20, 12.5, true },
	})
}

func TestScrapeMeasuresAllServersAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const servers = 200
		o := newMetrics().o
		o.Statuses = func() []core.ServerStatus {
			list := make([]core.ServerStatus, servers)
			for i := range list {
				list[i].ID = strconv.Itoa(i)
			}
			return list
		}
		var waiting atomic.Int64
		all := make(chan struct{})
		o.Usage = func(string) (uint64, float64, bool) {
			if waiting.Add(1) == servers {
				close(all)
			}
			<-all // forever, unless each is measured at the same time
			return 1, 1, true
		}
		w := httptest.NewRecorder()
		New(o).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		require.Equal(t, servers, strings.Count(w.Body.String(), "\ndrawbridge_server_resident_memory_bytes{"))
	})
}

func TestPrometheusParsesMetrics(t *testing.T) {
	m := newMetrics()
	call := func(id int64, server string, outcome core.Outcome) {
		m.Event(core.Event{Kind: core.CallEvent, Data: core.Call{ID: id, Server: server, Outcome: outcome, Took: 20 * time.Millisecond}})
	}
	call(1, "files", core.OutcomeRunning)
	call(1, "files", core.OutcomeOK)
	call(2, "files", core.OutcomeRunning)
	call(3, "old", core.OutcomeTimeout)
	for _, inARow := range []int{0, 1, 2, 2, 0, 1} {
		m.Event(core.Event{Kind: core.ServerEvent, Data: core.ServerStatus{ID: "files", Restarts: inARow}})
	}
	m.Request("GET /api/v1/calls", 404, time.Millisecond)
	m.Event(core.Event{Kind: core.RemovedEvent, Data: "old"})

	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if wrong, err := promlint.New(bytes.NewReader(w.Body.Bytes())).Lint(); err != nil || len(wrong) > 0 {
		t.Errorf("Prometheus' conventions: %v, %v", wrong, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	require.NoError(t, err)
	value := func(name string, labels map[string]string) float64 {
		for _, one := range families[name].GetMetric() {
			same := len(one.GetLabel()) == len(labels)
			for _, l := range one.GetLabel() {
				same = same && labels[l.GetName()] == l.GetValue()
			}
			if same {
				return one.GetCounter().GetValue() + one.GetGauge().GetValue() + float64(one.GetHistogram().GetSampleCount())
			}
		}
		return -1
	}
	for _, c := range []struct {
		name   string
		labels map[string]string
		want   float64
	}{
		{"drawbridge_calls_total", map[string]string{"server": "files", "outcome": "ok"}, 1},
		{"drawbridge_calls_total", map[string]string{"server": "old", "outcome": "timeout"}, -1},
		{"drawbridge_calls_in_flight", map[string]string{"server": "files"}, 0},
		{"drawbridge_calls_in_flight", map[string]string{"server": "git"}, 1},
		{"drawbridge_http_request_duration_seconds", map[string]string{"route": "GET /api/v1/calls", "status": "404"}, 1},
		{"drawbridge_server_restarts_total", map[string]string{"server": "files"}, 3},
		{"drawbridge_server_cpu_ratio", map[string]string{"server": "files"}, 0.125},
		{"drawbridge_call_duration_seconds", map[string]string{"server": "files"}, 1},
		{"drawbridge_http_requests_total", map[string]string{"route": "GET /api/v1/calls", "status": "404"}, 1},
		{"drawbridge_server_state", map[string]string{"server": "files", "state": "running"}, 1},
		{"drawbridge_server_restarts", map[string]string{"server": "files"}, 2},
		{"drawbridge_server_resident_memory_bytes", map[string]string{"server": "files"}, 1 << 20},
		{"drawbridge_sessions", nil, 3},
		{"drawbridge_recorder_queue", nil, 4},
		{"drawbridge_recorder_dropped_total", nil, 5},
	} {
		got := value(c.name, c.labels)
		assert.Falsef(t, got != c.want, "%s%v is %v, want %v", c.name, c.labels, got, c.want)
	}
}

// A call with a task is counted once, when the task has ended, with its outcome and its duration.
func TestCallWithATaskIsCountedWhenItsTaskEnds(t *testing.T) {
	at := time.UnixMicro(1_000_000_000_000).UTC()
	for name, c := range map[string]struct {
		ends []core.Call // requests about the task, 3 s after the call
		want string
	}{
		"open":        {nil, ""},
		"modern":      {[]core.Call{{Method: "tasks/get", Outcome: core.OutcomeOK}, {Method: "tasks/get", Outcome: core.OutcomeToolError, Task: &core.Task{Ended: true, HasResult: true}}}, "tool_error 1 3s"},
		"legacy":      {[]core.Call{{Method: "tasks/get", Outcome: core.OutcomeOK, Task: &core.Task{Ended: true}}, {Method: "tasks/result", Outcome: core.OutcomeToolError, Task: &core.Task{Ended: true, HasResult: true}}}, "tool_error 1 3s"},
		"failed":      {[]core.Call{{Method: "tasks/get", Outcome: core.OutcomeProtocolError, Task: &core.Task{Ended: true}}}, "protocol_error 1 3s"},
		"twice":       {[]core.Call{{Method: "tasks/result", Outcome: core.OutcomeOK, Task: &core.Task{Ended: true, HasResult: true}}, {Method: "tasks/result", Outcome: core.OutcomeOK, Task: &core.Task{Ended: true, HasResult: true}}}, "ok 1 3s"},
		"cancelled":   {[]core.Call{{Method: "tasks/cancel", Outcome: core.OutcomeOK}}, "cancelled 1 3s"},
		"poll failed": {[]core.Call{{Method: "tasks/get", Outcome: core.OutcomeTimeout}}, ""},
	} {
		m := newMetrics()
		call := core.Call{ID: at.UnixMicro(), At: at, Server: "files", Name: "job", Method: "tools/call", Outcome: core.OutcomeOK}
		call.Task = &core.Task{Call: call.ID}
		m.Call(call)
		for _, end := range c.ends {
			task := core.Task{}
			if end.Task != nil {
				task = *end.Task
			}
			task.Call = call.ID
			end.ID, end.At, end.Server, end.Name, end.Task = call.ID+3e6, at.Add(3*time.Second), "files", "job", &task
			m.Call(end)
		}
		families, err := m.Gather()
		require.NoError(t, err)
		count, took := "", ""
		for _, f := range families {
			for _, one := range f.GetMetric() {
				switch f.GetName() {
				case "drawbridge_tool_calls_total":
					count += fmt.Sprintf("%s %v", one.GetLabel()[0].GetValue(), one.GetCounter().GetValue())
				case "drawbridge_tool_call_duration_seconds":
					took += fmt.Sprintf(" %vs", one.GetHistogram().GetSampleSum())
				}
			}
		}
		got := count + took
		assert.Equal(t, c.want, got, name)
	}
}

// toolCalls are the calls that m counted, by server, tool and outcome.
func toolCalls(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	families, err := m.Gather()
	require.NoError(t, err)
	counted := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "drawbridge_tool_calls_total" {
			continue
		}
		for _, one := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range one.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			counted[labels["server"]+" "+labels["tool"]+" "+labels["outcome"]] += one.GetCounter().GetValue()
		}
	}
	return counted
}

func recordCalls(m *Metrics, server, tool string, outcome core.Outcome, times int) {
	for range times {
		m.Call(core.Call{Server: server, Method: "tools/call", Name: tool, Outcome: outcome, Took: time.Millisecond})
	}
}

func TestEachAnsweringToolIsALabel(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	recordCalls(m, "files", "read", core.OutcomeOK, 2)
	recordCalls(m, "files", "read", core.OutcomeTimeout, 1)
	recordCalls(m, "files", "write", core.OutcomeToolError, 1)
	recordCalls(m, "files", "invented", core.OutcomeRejected, 3)
	recordCalls(m, "files", "\xff", core.OutcomeOK, 1)
	recordCalls(m, "files", strings.Repeat("x", 129), core.OutcomeOK, 1)
	m.Call(core.Call{Server: "files", Method: "prompts/get", Name: "greet", Outcome: core.OutcomeOK})
	want := map[string]float64{
		"files read ok": 2, "files read timeout": 1, "files write tool_error": 1, "files other rejected": 3, "files other ok": 2,
	}
	assert.Equal(t, fmt.Sprint(want), fmt.Sprint(toolCalls(t, m)))
}

// Clients can call servers that do not exist.
func TestUnknownServerIsNone(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	for n := range 400 {
		recordCalls(m, fmt.Sprint("q", n), "t", core.OutcomeRejected, 1)
	}
	recordCalls(m, "files", "read", core.OutcomeTimeout, 1) // configured
	recordCalls(m, "drawbridge", "status", core.OutcomeOK, 1)
	recordCalls(m, "drawbridge", "status", core.OutcomeTimeout, 1)
	m.Forget("drawbridge")
	recordCalls(m, "drawbridge", "status", core.OutcomeTimeout, 1)
	want := map[string]float64{"none other rejected": 400, "none other timeout": 1, "files other timeout": 1}
	assert.Equal(t, fmt.Sprint(want), fmt.Sprint(toolCalls(t, m)))
}

func TestToolsBeyondLimitAreOther(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	for s := range 10 {
		for n := range 100 {
			recordCalls(m, fmt.Sprint("s", s), fmt.Sprint("t", n), core.OutcomeOK, 1)
		}
	}
	got := toolCalls(t, m)
	if len(got) != maxTools+10 || got["s0 t63 ok"] != 1 || got["s0 other ok"] != 100-maxToolsOfServer || got["s9 other ok"] != 100 {
		t.Errorf("%d series: %v", len(got), got)
	}
	m.Forget("s0")
	recordCalls(m, "s9", "t1", core.OutcomeOK, 1)
	if got := toolCalls(t, m); got["s9 t1 ok"] != 1 || got["s0 t0 ok"] != 0 {
		t.Errorf("the labels of a removed server are not given back: %v", got)
	}
}
