//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// taskScenarios are the scenarios of the official suite for tasks.
var taskScenarios = []string{
	"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
	"tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-status-notifications", "tasks-required-task-error", "tasks-mrtr-composition",
}

// suiteCheck matches one check in the suite's detailed output.
var suiteCheck = regexp.MustCompile(`"id": ("[^"]+"),\s*"name": "[^"]*",\s*"description": "(?:[^"\\]|\\.)*",\s*"status": "([A-Z]+)"`)

// The scenarios for tasks of the official suite pass against a server with tasks, and have the same
// results through the bridge.
func TestTaskScenariosOfTheSuitePassDirectlyAndThroughTheBridge(t *testing.T) {
	t.Parallel()
	d := start(t, object{
		"mcpServers": object{"tasks": object{"command": smallServer(t), "args": []string{"tasks"}}},
		"bridge":     object{"requireToken": false, "naming": "{tool}"},
	})
	d.running("tasks")
	direct := httptest.NewServer(newHTTPFront(t, "tasks"))
	t.Cleanup(direct.Close)
	for _, scenario := range taskScenarios {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			results := func(url string) string {
				// The suite exits with 1 if a check fails, which the results show.
				cmd := suite(t, nil, "server", "--url", url, "--scenario", scenario,
					"--spec-version", "2026-07-28", "--force", "--verbose", "--timeout", fmt.Sprint(limit(12e9).Milliseconds()), "--output-dir", t.TempDir())
				report, err := cmd.Output()
				var all []string
				for _, m := range suiteCheck.FindAllStringSubmatch(string(report), -1) {
					all = append(all, m[1]+" "+m[2])
				}
				require.NotEmptyf(t, all, "no results: %v", err)
				assert.NotContains(t, strings.Join(all, "\n"), "FAILURE", url)
				slices.Sort(all)
				return strings.Join(all, "\n")
			}
			want := results(direct.URL)
			t.Log("\n" + want)
			for _, path := range []string{"/s/tasks/mcp", "/mcp"} {
				assert.Equal(t, want, results(d.url+path), path)
			}
		})
	}
}

// httpFront offers a test server over HTTP, as the modern era requires.
type httpFront struct {
	pipe *mcptest.Pipe

	mu      sync.Mutex
	lastID  int
	waiting map[int]chan json.RawMessage
}

func newHTTPFront(t testing.TB, mode string) *httpFront {
	t.Helper()
	pipe, err := mcptest.Start(mode)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pipe.Stop(context.Background()) })
	f := &httpFront{pipe: pipe, waiting: map[int]chan json.RawMessage{}}
	go func() {
		for lines := bufio.NewScanner(pipe.Stdout()); lines.Scan(); {
			var m struct{ ID *int }
			if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
				continue
			}
			f.mu.Lock()
			if answer := f.waiting[*m.ID]; answer != nil {
				answer <- bytes.Clone(lines.Bytes())
			}
			f.mu.Unlock()
		}
	}()
	return f
}

func (f *httpFront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	env, err := wire.Scan(body)
	if r.Method != http.MethodPost || err != nil || env.Kind != wire.Request {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	id, params := wire.Bytes(body, env.ID), wire.Bytes(body, env.Params)
	spans, _ := wire.ScanParams(params)
	if r.Header.Get("Mcp-Method") != env.Method || r.Header.Get("Mcp-Name") != wire.NameHeaderValue(env.Method, params, &spans) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(wire.AppendError(nil, id, -32020, "the headers do not match the body", nil))
		return
	}
	f.mu.Lock()
	f.lastID++
	own, answer := f.lastID, make(chan json.RawMessage, 1)
	f.waiting[own] = answer
	_, err = f.pipe.Stdin().Write(append(wire.Splice(nil, bytes.TrimSpace(body), wire.Edit{Span: env.ID, With: []byte(fmt.Sprint(own))}), '\n'))
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.waiting, own)
		f.mu.Unlock()
	}()
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	select {
	case reply := <-answer:
		env, _ := wire.Scan(reply)
		if !env.Error.Empty() {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write(wire.Splice(nil, reply, wire.Edit{Span: env.ID, With: id}))
	case <-r.Context().Done():
	}
}

// A call with a task is one call in the history, also when Drawbridge restarts meanwhile: the
// server keeps the task, and only the client that created it reaches it. A command waits for the
// result of its task.
func TestTaskSurvivesARestartAndIsOneCall(t *testing.T) {
	t.Parallel()
	keeper := httptest.NewServer(newHTTPFront(t, "tasks"))
	t.Cleanup(keeper.Close)
	d := start(t, object{"mcpServers": object{"tasks": object{"url": keeper.URL}}})
	d.running("tasks")
	capable := strings.Replace(modernMeta, `clientCapabilities":{}`, `clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)
	owner, other := d.token("owner"), d.token("other")
	send := func(token, method, name, params string) string {
		t.Helper()
		c := &rawClient{t: t, url: d.url + "/mcp", token: token, modern: true}
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `,` + capable + `}}`
		resp, err := http.DefaultClient.Do(c.request(t.Context(), "POST", method, name, body))
		require.NoError(t, err)
		defer resp.Body.Close()
		said, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(said)
	}
	created := send(owner, "tools/call", "tasks__confirm_delete", `"name":"tasks__confirm_delete","arguments":{"filename":"plan"}`)
	id := regexp.MustCompile(`"taskId":"([^"]+)"`).FindStringSubmatch(created)
	require.NotNil(t, id, created)
	about := `"taskId":"` + id[1] + `"`
	type detail struct {
		Method, Result, TaskCreated string
		Task                        struct{ Status string }
		TaskRequests                []struct{ Method string }
	}
	listed := func() (calls []detail) {
		var list struct{ Items []call }
		d.get("/api/v1/calls?server=tasks", &list)
		for _, c := range list.Items {
			var one detail
			d.get("/api/v1/calls/"+c.ID, &one)
			calls = append(calls, one)
		}
		return calls
	}
	if got := listed(); len(got) != 1 || got[0].Task.Status != "input_required" {
		t.Fatalf("%+v", got)
	}
	d.stop()
	d.launch()
	d.running("tasks")
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		assert.Contains(t, send(other, method, id[1], about), "-32602", "another client")
	}
	assert.Contains(t, send(owner, "tasks/get", id[1], about), `"input_required"`)
	send(owner, "tasks/update", id[1], about+`,"inputResponses":{"confirm":{"action":"accept"}}`)
	assert.Contains(t, send(owner, "tasks/get", id[1], about), `"completed"`)
	got := listed()
	t.Logf("%+v", got)
	if len(got) != 1 || got[0].Method != "tools/call" || got[0].Task.Status != "completed" || !strings.Contains(got[0].Result, "deleted plan") ||
		!strings.Contains(got[0].TaskCreated, `"resultType":"task"`) || len(got[0].TaskRequests) != 2 {
		t.Errorf("%+v", got)
	}
	var facets struct{ Total int }
	if d.get("/api/v1/facets?server=tasks", &facets); facets.Total != 1 {
		t.Errorf("%d calls are counted", facets.Total)
	}
	for _, c := range []struct {
		tool, says, outcome string
		exit                int
	}{
		{"slow_compute", "computed it", "ok", 0}, {"failing_job", "the job failed", "tool_error", 1},
		{"protocol_error_job", "the job crashed (code=-32603)", "protocol_error", 1}, {"confirm_delete", "the tool needs input", "cancelled", 1},
	} {
		said := d.cli(c.exit, "--json", "call", "tasks", c.tool, `{"label":"it"}`)
		var last struct{ Items []call }
		if d.get("/api/v1/calls?limit=1&tool="+c.tool, &last); !strings.Contains(said, c.says) || len(last.Items) != 1 || last.Items[0].Outcome != c.outcome {
			t.Errorf("%s: %s %+v", c.tool, said, last.Items)
		}
	}
}
