package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// toolCalls are the calls that m counted, by server, tool and outcome.
func toolCalls(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	families, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
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
	if got := toolCalls(t, m); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %v, want %v", got, want)
	}
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
	if got := toolCalls(t, m); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %v, want %v", got, want)
	}
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
