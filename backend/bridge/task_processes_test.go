package bridge

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// The process of one account reports nothing about the tasks of another: neither to the client nor to the
// history, even if the ids are equal.
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
	f.startedStreams(2)
	f.history()
	for _, sent := range []struct{ process, message string }{{"other", "forged"}, {"", "forged"}, {"desk", "own"}} {
		state := func(id string) json.RawMessage {
			return json.RawMessage(fmt.Sprintf(`{"taskId":"%s","status":"cancelled","statusMessage":"%s"}`, id, sent.message))
		}
		f.bridge.TaskChanged("one", sent.process, state("1"))
		f.bridge.TaskUpdated("one", sent.process, state("2"))
		f.mu.Lock()
		if n := len(f.recorded); n != map[string]int{"own": 2}[sent.message] {
			t.Errorf("%d notifications of process %q are recorded", n, sent.process)
		}
		f.mu.Unlock()
	}
	if got, _ := legacy(); !strings.Contains(got, `"statusMessage":"own"`) {
		t.Errorf("the legacy client got %s", got)
	}
	if got := <-modern; !strings.Contains(got, `"statusMessage":"own"`) {
		t.Errorf("the modern client got %s", got)
	}
}

// Two accounts may have tasks with the same id: each notification reaches the client of its process.
func TestTasksOfTwoProcessesWithTheSameIDAreToldApart(t *testing.T) {
	f := newTaskFixture(t)
	f.bridge.ProcessOf = func(c *core.Call) (string, error) { return c.Account, nil }
	for _, client := range []string{"desk", "other"} {
		f.bridge.tasks.add(taskKey{"one", "1"}, task{client: core.Client{Token: client}, account: "account of " + client, created: f.bridge.Now()}, -1, f.bridge.Now())
	}
	for _, client := range []string{"desk", "other"} {
		if got, ok := f.bridge.notifiedTask("one", "account of "+client, "1"); !ok || got.client.Token != client {
			t.Errorf("%s: %+v", client, got)
		}
	}
}
