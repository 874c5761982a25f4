package bridge

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The process of one account reports nothing about the tasks of another: neither to the client nor
// to the history, even if the ids are equal.
func TestTaskNotificationsComeFromTheProcessOfTheTask(t *testing.T) {
	f := newTaskFixture(t)
	f.bridge.ProcessOf = func(c *core.Call) (string, error) { return c.Client.Token, nil }
	f.answer = func() core.Reply { return core.Reply{Result: []byte(`{"task":{"taskId":"1","status":"working"}}`)} }
	session := f.openSession("/mcp", `{}`, ClientHeader, "desk")
	legacy, stop := iter.Pull(events(f.request(http.MethodGet, "/mcp", "", session...).Body))
	defer stop()
	taskIDIn(t, onlyMessage(t, f.post("/mcp", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one__slow_compute","task":{}}}`, session...)))
	f.answer = func() core.Reply {
		return core.Reply{Result: []byte(`{"resultType":"task","taskId":"2","status":"working"}`)}
	}
	f.withTasks("/mcp", "tools/call", "one__slow_compute", `"name":"one__slow_compute"`, ClientHeader, "desk")
	f.answer = func() core.Reply { return core.Reply{Result: []byte(`{}`)} }
	modern := f.listen("/mcp", "desk", "one__2")
	<-modern
	f.waitForOwnStreams(2)
	f.history()
	for _, sent := range []struct{ process, message string }{{"other", "forged"}, {"", "forged"}, {"desk", "own"}} {
		state := func(id string) json.RawMessage {
			return json.RawMessage(fmt.Sprintf(`{"taskId":"%s","status":"cancelled","statusMessage":"%s"}`, id, sent.message))
		}
		f.bridge.LegacyTaskStatusChanged("one", sent.process, state("1"))
		f.bridge.ModernTaskUpdated("one", sent.process, state("2"))
		f.mu.Lock()
		assert.Equal(t, map[string]int{"own": 2}[sent.message], len(f.recorded), sent.process)
		f.mu.Unlock()
	}
	got, _ := legacy()
	assert.Contains(t, got, `"statusMessage":"own"`, "the legacy client")
	got = <-modern
	assert.Contains(t, got, `"statusMessage":"own"`, "the modern client")
}

// A question of a server that names a task is for the session that created the task, whatever else
// is in flight. If that session has ended, no other client is asked.
func TestQuestionsOfATaskReachOnlyTheSessionOfTheTask(t *testing.T) {
	f := newTaskFixture(t)
	open := func(client string) (session []string, next func() (string, bool)) {
		session = f.openSession("/mcp", `{"elicitation":{}}`, ClientHeader, client)
		next, stop := iter.Pull(events(f.request(http.MethodGet, "/mcp", "", session...).Body))
		t.Cleanup(stop)
		return session, next
	}
	bob, asked := open("bob")
	open("alice")
	f.waitForOwnStreams(2)
	id := taskIDIn(t, onlyMessage(t, f.post("/mcp", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one__confirm_delete","task":{}}}`, bob...)))
	question := json.RawMessage(`{"mode":"form","message":"Sure?","requestedSchema":{"type":"object","properties":{}},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + strings.TrimPrefix(id, "one__") + `"}}}`)
	answered := make(chan core.Reply)
	ask := func() {
		reply, _ := f.bridge.Ask(t.Context(), "one", "", "elicitation/create", question)
		answered <- reply
	}
	go ask()
	got, _ := asked()
	var request struct{ ID string }
	if _ = json.Unmarshal([]byte(got), &request); !strings.Contains(got, `"taskId":"`+id+`"`) {
		t.Fatalf("bob got %s", got)
	}
	f.post("/mcp", `{"jsonrpc":"2.0","id":"`+request.ID+`","result":{"action":"accept"}}`, bob...)
	reply := <-answered
	assert.Equal(t, `{"action":"accept"}`, string(reply.Result), reply.Error)
	f.request(http.MethodDelete, "/mcp", "", bob...)
	go ask()
	reply = <-answered
	assert.NotEmptyf(t, reply.Error, "after the session has ended, the server got %s", reply.Result)
}

// A server may report the state of a task right after it has created the task.
func TestTaskIsKnownBeforeTheFirstNotificationAboutIt(t *testing.T) {
	f := newTaskFixture(t)
	session := f.openSession("/s/one/mcp", `{}`)
	next, stop := iter.Pull(events(f.request(http.MethodGet, "/s/one/mcp", "", session...).Body))
	defer stop()
	f.waitForOwnStreams(1)
	for range 20 {
		id := taskIDIn(t, onlyMessage(t, f.post("/s/one/mcp", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow_compute","task":{}}}`, session...)))
		got, ok := next()
		require.Truef(t, ok && strings.Contains(got, `"taskId":"`+id+`","status":"completed"`), "%s after task %s", got, id)
	}
}

// Two accounts may have tasks with the same id: each notification reaches the client of its
// process.
func TestTasksOfTwoProcessesWithTheSameIDAreToldApart(t *testing.T) {
	f := newTaskFixture(t)
	f.bridge.ProcessOf = func(c *core.Call) (string, error) { return c.Account, nil }
	for _, client := range []string{"desk", "other"} {
		f.bridge.tasks.table.add(taskKey{"one", "1"}, task{client: core.Client{Token: client}, account: "account of " + client, created: f.bridge.Now()}, -1, f.bridge.Now())
	}
	for _, client := range []string{"desk", "other"} {
		got, ok := f.bridge.tasks.notified("one", "account of "+client, "1")
		assert.Truef(t, ok && got.client.Token == client, "%s: %+v", client, got)
	}
}
