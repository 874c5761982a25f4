package mcptest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

const (
	tasksExtension   = "io.modelcontextprotocol/tasks"
	missingExtension = `{"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}}`
)

type testTask struct {
	id, created    string
	status         string
	result, failed string            // raw, when it has ended
	inputs         map[string]string // the open requests, raw, by key
	then           func(t *testTask, answer json.RawMessage)
	timer          *time.Timer
	server         *server  // that created it
	waiting        []func() // for its end
}

// Listening reports whether the clients of the servers in this process listen to all these tasks.
func Listening(ids ...string) bool {
	testTasks.Lock()
	defer testTasks.Unlock()
	return !slices.ContainsFunc(ids, func(id string) bool {
		t := testTasks.byID[id]
		return t == nil || !slices.Contains(t.server.listening, id)
	})
}

// testTasks are the tasks of all servers in this process. They outlive their server, as those of a
// server with a database do.
var testTasks = struct {
	sync.Mutex
	byID map[string]*testTask
}{byID: map[string]*testTask{}}

// taskServer makes s a server with tasks in both eras: the extension in the modern era, the tasks
// of 2025-11-25 in the legacy era. It has the tools that the official suite expects.
func taskServer(s *server) {
	s.modern = true
	s.capabilities = `{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}},"extensions":{"` + tasksExtension + `":{}}}`
	s.tools = tools("greet")
	for name, support := range map[string]string{
		"slow_compute": "optional", "failing_job": "required", "protocol_error_job": "optional", "confirm_delete": "optional",
		"multi_input": "optional", "test_tool_with_task": "required",
	} {
		s.tools += `,{"name":"` + name + `","inputSchema":{"type":"object"},"execution":{"taskSupport":"` + support + `"}}`
	}
	s.on["server/discover"] = func(s *server, id, _ []byte) {
		s.result(id, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"`+tasksExtension+`":{}}},`+
			`"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":`+s.info+`}}`)
	}
	s.on["tools/call"] = callTaskTool
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result"} {
		s.on[method] = func(s *server, id, params []byte) { s.task(method, id, params) }
	}
	s.on["subscriptions/listen"] = func(s *server, id, params []byte) {
		var p struct {
			Notifications struct{ TaskIDs []string }
		}
		_ = json.Unmarshal(params, &p)
		ids, _ := json.Marshal(p.Notifications.TaskIDs)
		testTasks.Lock()
		s.listening, s.listenID = p.Notifications.TaskIDs, string(id)
		testTasks.Unlock()
		s.notify("notifications/subscriptions/acknowledged", `{"notifications":{"taskIds":`+string(ids)+`},"_meta":{"io.modelcontextprotocol/subscriptionId":`+string(id)+`}}`)
	}
}

// taskParams are the params of a request to the tasks server.
type taskParams struct {
	Name           string
	Arguments      struct{ Name, Label, Filename string }
	Task           json.RawMessage
	TaskID         string
	InputResponses map[string]json.RawMessage
	RequestState   string
	Meta           struct {
		Version      string                                          `json:"io.modelcontextprotocol/protocolVersion"`
		Capabilities struct{ Extensions map[string]json.RawMessage } `json:"io.modelcontextprotocol/clientCapabilities"`
	} `json:"_meta"`
}

// declares reports whether the client of a modern request declares the extension.
func (p *taskParams) declares() bool { return p.Meta.Capabilities.Extensions[tasksExtension] != nil }

func textResult(modern bool, text string, isError bool) string {
	raw, _ := json.Marshal(text)
	kind := ""
	if modern {
		kind = `"resultType":"complete",`
	}
	return fmt.Sprintf(`{%s"content":[{"type":"text","text":%s}],"isError":%v}`, kind, raw, isError)
}

func callTaskTool(s *server, id, raw []byte) {
	var p taskParams
	_ = json.Unmarshal(raw, &p)
	modern := p.Meta.Version != ""
	asTask := modern && p.declares() || !modern && p.Task != nil
	t := &testTask{id: rand.Text(), created: time.Now().UTC().Format(time.RFC3339Nano), status: "working", server: s, inputs: map[string]string{}}
	ask := func(key, question string) {
		t.inputs[key] = `{"method":"elicitation/create","params":{"mode":"form","message":"` + question + `","requestedSchema":{"type":"object","properties":{}}}}`
		t.status = "input_required"
	}
	var start func()
	switch p.Name {
	case "greet":
		s.result(id, textResult(modern, "Hello, "+p.Arguments.Name+"!", false))
		return
	case "slow_compute":
		delay := time.Duration(number(raw, "seconds", 0))*time.Second + time.Duration(number(raw, "ms", 0))*time.Millisecond
		done := textResult(false, "computed "+p.Arguments.Label, false)
		if !asTask {
			s.result(id, textResult(modern, "computed "+p.Arguments.Label, false))
			return
		}
		start = func() { t.timer = time.AfterFunc(delay, func() { t.end("completed", done, "") }) }
	case "failing_job":
		start = func() {
			t.timer = time.AfterFunc(0, func() { t.end("completed", textResult(false, "the job failed", true), "") })
		}
	case "protocol_error_job":
		start = func() {
			t.timer = time.AfterFunc(0, func() { t.end("failed", "", `{"code":-32603,"message":"the job crashed"}`) })
		}
	case "confirm_delete":
		ask("confirm", "Delete?")
		t.then = func(t *testTask, answer json.RawMessage) {
			t.endLocked("completed", textResult(false, "deleted "+p.Arguments.Filename+" "+string(answer), false), "")
		}
	case "multi_input":
		ask("first", "First?")
		ask("second", "Second?")
		t.then = func(t *testTask, _ json.RawMessage) {
			t.endLocked("completed", textResult(false, "both answered", false), "")
		}
	case "test_tool_with_task":
		if asTask && len(p.InputResponses) == 0 {
			s.result(id, `{"resultType":"input_required","requestState":"round-1","inputRequests":{"user_name":{"method":"elicitation/create","params":{"mode":"form","message":"Name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}`)
			return
		}
		answer := string(p.InputResponses["user_name"])
		start = func() {
			t.timer = time.AfterFunc(0, func() { t.end("completed", textResult(false, answer, false), "") })
		}
	default:
		s.error(id, -32602, "no such tool")
		return
	}
	if !asTask {
		if modern {
			s.errorObject(id, missingExtension)
		} else {
			s.error(id, -32601, "this tool requires a task")
		}
		return
	}
	testTasks.Lock()
	defer testTasks.Unlock()
	testTasks.byID[t.id] = t
	if modern {
		s.result(id, `{"resultType":"task",`+t.fields(true)+`}`)
	} else {
		s.result(id, `{"task":{`+t.fields(false)+`}}`)
	}
	if start != nil {
		start()
	}
}

// fields returns the members of a task in one of the eras.
func (t *testTask) fields(modern bool) string {
	names := [2]string{"ttl", "pollInterval"}
	if modern {
		names = [2]string{"ttlMs", "pollIntervalMs"}
	}
	return fmt.Sprintf(`"taskId":%q,"status":%q,"createdAt":%q,"lastUpdatedAt":%q,%q:60000,%q:50`, t.id, t.status, t.created, t.created, names[0], names[1])
}

// detailed returns the members of a task of the modern era with its result, error or inputs.
func (t *testTask) detailed() string {
	out := t.fields(true)
	switch {
	case t.result != "":
		out += `,"result":` + t.result
	case t.failed != "":
		out += `,"error":` + t.failed
	case len(t.inputs) > 0:
		var all []string
		for _, key := range slices.Sorted(maps.Keys(t.inputs)) {
			all = append(all, `"`+key+`":`+t.inputs[key])
		}
		out += `,"inputRequests":{` + strings.Join(all, ",") + `}`
	}
	return out
}

func (t *testTask) ended() bool { return t.status != "working" && t.status != "input_required" }

func (t *testTask) end(status, result, failed string) {
	testTasks.Lock()
	defer testTasks.Unlock()
	t.endLocked(status, result, failed)
}

func (t *testTask) endLocked(status, result, failed string) {
	if t.ended() {
		return
	}
	t.status, t.result, t.failed, t.inputs = status, result, failed, nil
	if t.timer != nil {
		t.timer.Stop()
	}
	for _, f := range t.waiting {
		f()
	}
	t.announce()
}

// announce notifies the server's client of the state. It must be called with testTasks locked.
func (t *testTask) announce() {
	if slices.Contains(t.server.listening, t.id) {
		t.server.notify("notifications/tasks", `{`+t.detailed()+`,"_meta":{"io.modelcontextprotocol/subscriptionId":`+t.server.listenID+`}}`)
	} else {
		t.server.notify("notifications/tasks/status", `{`+t.fields(false)+`}`)
	}
	t.server.flush()
}

// answer delivers an answer to an open request of the task.
func (t *testTask) answer(key string, answer json.RawMessage) {
	if _, open := t.inputs[key]; !open {
		return
	}
	delete(t.inputs, key)
	if len(t.inputs) == 0 {
		t.then(t, answer)
	}
}

// task handles the requests about tasks.
func (s *server) task(method string, id, raw []byte) {
	var p taskParams
	_ = json.Unmarshal(raw, &p)
	modern := p.Meta.Version != ""
	testTasks.Lock()
	defer testTasks.Unlock()
	switch {
	case modern && (method == "tasks/list" || method == "tasks/result"), !modern && method == "tasks/update":
		s.error(id, -32601, "method not found")
		return
	case modern && !p.declares():
		s.errorObject(id, missingExtension)
		return
	case method == "tasks/list":
		var all []string
		for _, key := range slices.Sorted(maps.Keys(testTasks.byID)) {
			if t := testTasks.byID[key]; t.server == s {
				all = append(all, `{`+t.fields(false)+`}`)
			}
		}
		s.result(id, `{"tasks":[`+strings.Join(all, ",")+`]}`)
		return
	}
	t := testTasks.byID[p.TaskID]
	if t == nil {
		s.error(id, -32602, "Failed to retrieve task: Task not found")
		return
	}
	t.server = s
	switch method {
	case "tasks/get":
		if modern {
			s.result(id, `{"resultType":"complete",`+t.detailed()+`}`)
		} else {
			s.result(id, `{`+t.fields(false)+`}`)
		}
	case "tasks/update":
		for key, answer := range p.InputResponses {
			t.answer(key, answer)
		}
		s.result(id, `{"resultType":"complete"}`)
	case "tasks/cancel":
		if t.ended() && !modern {
			s.error(id, -32602, "the task has ended")
			return
		}
		t.endLocked("cancelled", "", "")
		if modern {
			s.result(id, `{"resultType":"complete"}`)
		} else {
			s.result(id, `{`+t.fields(false)+`}`)
		}
	case "tasks/result":
		related := `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + t.id + `"}}`
		answer := func() {
			switch {
			case t.failed != "":
				s.errorObject(id, t.failed)
			case t.result != "":
				s.result(id, t.result[:len(t.result)-1]+`,`+related+`}`)
			default:
				s.error(id, -32602, "the task was cancelled")
			}
		}
		if t.ended() {
			answer()
			return
		}
		t.waiting = append(t.waiting, answer)
		for key := range t.inputs {
			s.ask(`"`+t.id+`-`+key+`"`, "elicitation/create", `{"mode":"form","message":"`+key+`?","requestedSchema":{"type":"object","properties":{}},`+related+`}`, func(response []byte) {
				env, _ := wire.Scan(bytes.TrimSpace(response))
				testTasks.Lock()
				defer testTasks.Unlock()
				t.answer(key, bytes.Clone(wire.Bytes(response, env.Result)))
			})
		}
	}
}

func (s *server) errorObject(id []byte, object string) {
	s.write(func(dst []byte) []byte { return wire.AppendErrorObject(dst, id, []byte(object)) })
}
