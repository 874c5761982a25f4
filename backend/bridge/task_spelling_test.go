package bridge

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
)

// A reply that a client would read as a task is one for Drawbridge, however it is spelled. If clients could
// read it differently, or did not ask for it, they get an error that says why instead. The history has the reply
// of the server.
func TestTaskIsRecognizedHoweverItIsSpelled(t *testing.T) {
	f := newTaskFixture(t)
	reply := ""
	f.answer = func() core.Reply { return core.Reply{Result: []byte(reply)} }
	session := f.openSession("/mcp", `{}`)
	calls := map[string]func() string{
		"undeclared": func() string {
			return onlyMessage(t, f.modern("/mcp", "tools/call", "one__slow_compute", `"name":"one__slow_compute"`))
		},
		"modern": func() string {
			return f.withTasks("/mcp", "tools/call", "one__slow_compute", `"name":"one__slow_compute"`)
		},
		"legacy": func() string {
			return onlyMessage(t, f.post("/mcp", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one__slow_compute","t\u0061sk":{}}}`, session...))
		},
		"unasked": func() string {
			return onlyMessage(t, f.post("/mcp", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one__slow_compute"}}`, session...))
		},
	}
	const invalid, unasked, undeclared, tooLong = "sent an invalid task", "did not ask for one", "does not declare the extension", "longer than 1024 bytes"
	long := strings.Repeat("x", core.MaxTaskID+1)
	for _, c := range []struct{ call, reply, want string }{
		{"modern", `{"resultType":"task","task\u0049d":"a","status":"working"}`, `"task\u0049d":"one__a"`},
		{"modern", `{"result\u0054ype":"t\u0061sk","taskId":"a","status":"working"}`, `"taskId":"one__a"`},
		{"undeclared", `{"resultType":"t\u0061sk","task\u0049d":"a","status":"working"}`, undeclared},
		{"undeclared", `{"resultType":"task","taskId":"","status":"working"}`, invalid},
		{"unasked", `{"resultType":"t\u0061sk","task\u0049d":"a","status":"working"}`, undeclared},
		{"legacy", `{"resultType":"task","taskId":"a","status":"working"}`, undeclared},
		{"modern", `{"resultType":"task","taskId":"","status":"working"}`, invalid},
		{"modern", `{"resultType":"task","taskId":5,"status":"working"}`, invalid},
		{"modern", `{"resultType":"task","status":"working"}`, invalid},
		{"modern", `{"resultType":"task","taskId":"a","taskId":"b","status":"working"}`, invalid},
		{"modern", `{"resultType":"complete","resultType":"task","taskId":"a","status":"working"}`, invalid},
		{"legacy", `{"t\u0061sk":{"task\u0049d":"a","status":"working"}}`, `"task\u0049d":"one__a"`},
		{"legacy", `{"task":{"taskId":"a","task\u0049d":"b","status":"working"}}`, invalid},
		{"legacy", `{"task":{"taskId":"a"},"task":{"taskId":"b","status":"working"}}`, invalid},
		{"legacy", `{"task":null}`, invalid},
		{"modern", `{"resultType":"task","taskId":"` + long + `","status":"working"}`, tooLong},
		{"legacy", `{"task":{"taskId":"` + long + `","status":"working"}}`, tooLong},
		{"unasked", `{"task":{"taskId":"a","status":"working"}}`, unasked},
		{"unasked", `{"content":[],"task":{"taskId":"a","status":"working"}}`, unasked},
		{"unasked", `{"content":[],"task":{"name":"\u0041 of the server"}}`, `"task":{"name":"\u0041 of the server"}`},
		{"modern", `{"content":[],"content":[],"structuredContent":{"task":"\u0041"}}`, `{"task":"\u0041"}`},
	} {
		reply = c.reply
		got := calls[c.call]()
		refused := c.want == invalid || c.want == unasked || c.want == undeclared || c.want == tooLong
		assert.Truef(t, strings.Contains(got, c.want) && !(refused && strings.Contains(got, "status")), "%s %s:\n got %s\nwant %s", c.call, reply, got, c.want)
		f.mu.Lock()
		last := len(f.recorded) - 1
		if call := f.recorded[last]; f.replies[last] != reply || refused != (call.Outcome == core.OutcomeProtocolError) {
			t.Errorf("%s %s: recorded as %s %q, %s", c.call, reply, call.Outcome, call.Reason, f.replies[last])
		}
		f.mu.Unlock()
	}
}

// An ordinary result that belongs to a task names it by the id that the client knows. Nothing else in it is an
// id of a task.
func TestResultThatBelongsToATaskHasItsPublicID(t *testing.T) {
	f := newTaskFixture(t)
	const result = `{"content":[],"taskId":"a","task":{"name":"x"},"_meta":{"taskId":"a","io.modelcontextprotocol/related-task":{"n":1.0,"taskId":"ID"}}}`
	f.answer = func() core.Reply { return core.Reply{Result: []byte(strings.Replace(result, "ID", "a", 1))} }
	for path, id := range map[string]string{"/mcp": "one__a", "/s/one/mcp": "a"} {
		name := map[string]string{"/mcp": "one__"}[path] + "slow_compute"
		legacy := onlyMessage(t, f.post(path, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`+name+`"}}`, f.openSession(path, `{}`)...))
		checkEqual(t, path, legacy, `{"jsonrpc":"2.0","id":7,"result":`+strings.Replace(result, "ID", id, 1)+`}`)
	}
}

// The reply to a request about a task has one id, which the client knows.
func TestStateOfATaskThatCannotBeReadIsAnError(t *testing.T) {
	f := newTaskFixture(t)
	reply := `{"resultType":"task","taskId":"a","status":"working"}`
	f.answer = func() core.Reply { return core.Reply{Result: []byte(reply)} }
	f.withTasks("/mcp", "tools/call", "one__slow_compute", `"name":"one__slow_compute"`)
	for _, invalid := range []string{`{"taskId":"a","task\u0049d":"b","status":"working"}`, `{"taskId":5,"status":"working"}`} {
		reply = invalid
		for _, method := range []string{"tasks/get", "tasks/cancel"} {
			got := f.withTasks("/mcp", method, "one__a", `"taskId":"one__a"`)
			assert.Truef(t, strings.Contains(got, "sent an invalid task") && !strings.Contains(got, "working"), "%s: %s", invalid, got)
		}
	}
	reply = `{"task\u0049d":"a","status":"working"}`
	assert.Contains(t, f.get("/mcp", "one__a"), `"task\u0049d":"one__a"`)
}
