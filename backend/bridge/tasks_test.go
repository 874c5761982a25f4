package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A task of each of two servers is fetched from its own server, at both addresses, and only by its
// client. At /mcp the ids have the server in front, at /s/ they are those of the server.
func TestTaskBelongsToItsServerAndClient(t *testing.T) {
	f := newTaskFixture(t)
	for _, server := range []string{"one", "two"} {
		own := taskIDIn(t, f.withTasks("/s/"+server+"/mcp", "tools/call", "slow_compute", `"name":"slow_compute","arguments":{"label":"`+server+`"}`, ClientHeader, "desk"))
		public := taskIDIn(t, f.withTasks("/mcp", "tools/call", server+"__slow_compute", `"name":"`+server+`__slow_compute","arguments":{"label":"`+server+`"}`, ClientHeader, "desk"))
		assert.Truef(t, strings.HasPrefix(public, server+"__") && !strings.Contains(own, "__"), "ids %q and %q", own, public)
		for _, at := range [][2]string{{"/s/" + server + "/mcp", own}, {"/mcp", server + "__" + own}, {"/mcp", public}} {
			path, id := at[0], at[1]
			last := ""
			eventually.True(t, "the task completes", func() bool {
				last = f.get(path, id, ClientHeader, "desk")
				return taskStatusIn(last) == "completed"
			})
			assert.Equal(t, id, taskIDIn(t, last), path)
			assert.Contains(t, last, `"text":"computed `+server+`"`, path)
			unknown := f.get(path, id+"x", ClientHeader, "desk")
			for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
				checkEqual(t, method+" of another client", f.withTasks(path, method, id, `"taskId":"`+id+`"`, ClientHeader, "other"), unknown)
			}
			assert.Contains(t, unknown, `"code":-32602`)
		}
		assert.Contains(t, f.get("/s/plain/mcp", own, ClientHeader, "desk"), `"code":-32601`, "at the address of another server")
	}
}

// Only a client that declares the extension gets tasks, and only at an address whose server has
// them.
func TestTasksAreOfferedOnlyWhereBothSidesHaveThem(t *testing.T) {
	f := newTaskFixture(t)
	sync := onlyMessage(t, f.modern("/s/one/mcp", "tools/call", "slow_compute", `"name":"slow_compute"`))
	assert.NotContains(t, sync, "taskId", "a client without tasks")
	assert.Contains(t, sync, `"content"`, "a client without tasks")
	missing := f.modern("/s/one/mcp", "tasks/get", "x", `"taskId":"x"`)
	if text := onlyMessage(t, missing); missing.StatusCode != 400 || !strings.Contains(text, `"code":-32021`) || !strings.Contains(text, `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`) {
		t.Error(missing.StatusCode, text)
	}
	for _, method := range []string{"tasks/list", "tasks/result"} {
		assert.Contains(t, f.withTasks("/s/one/mcp", method, "x", `"taskId":"x"`), `"code":-32601`, method)
	}
	assert.Contains(t, f.withTasks("/s/one/mcp", "tasks/result", "", `"taskId":"x"`), `"code":-32601`, "tasks/result without Mcp-Name")
	assert.Contains(t, f.withTasks("/mcp", "tasks/get", "wrong", `"taskId":"one__x"`), `"code":-32020`, "Mcp-Name of another task")
	for path, want := range map[string]string{
		"/s/one/mcp": `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`, "/mcp": `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`, "/s/plain/mcp": "",
	} {
		for version, expected := range map[string]string{"2025-11-25": want, "2025-06-18": ""} {
			got := onlyMessage(t, f.post(path, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"probe","version":"9"}}}`))
			has := strings.Contains(got, `"tasks"`)
			assert.Truef(t, has == (expected != "") && strings.Contains(got, expected) && json.Valid([]byte(got)), "%s %s: %s", path, version, got)
		}
	}
}

// The server keeps the task while its connection is replaced.
func TestTaskSurvivesARestartOfTheConnection(t *testing.T) {
	f := newTaskFixture(t)
	id := taskIDIn(t, f.withTasks("/mcp", "tools/call", "one__confirm_delete", `"name":"one__confirm_delete","arguments":{"filename":"a"}`))
	_ = f.conns["onemodern"].Close(context.Background())
	f.connect("one", core.Modern)
	got := f.get("/mcp", id)
	require.True(t, taskStatusIn(got) == "input_required" && strings.Contains(got, `"inputRequests":{"confirm"`), got)
	f.withTasks("/mcp", "tasks/update", id, `"taskId":"`+id+`","inputResponses":{"confirm":{"action":"accept","content":{"n":1.0}}}`)
	got = f.get("/mcp", id)
	require.True(t, taskStatusIn(got) == "completed" && strings.Contains(got, `\"n\":1.0`), got)
}

// A task is recorded when it is created, when its state changes and when it ends, not for each
// poll.
func TestTaskIsRecordedByItsLife(t *testing.T) {
	f := newTaskFixture(t)
	for tool, end := range map[string]core.Outcome{"confirm_delete": core.OutcomeOK, "failing_job": core.OutcomeToolError, "protocol_error_job": core.OutcomeProtocolError} {
		f.history()
		id := taskIDIn(t, f.withTasks("/mcp", "tools/call", "one__"+tool, `"name":"one__`+tool+`"`))
		want := "tools/call " + tool + " ok\n"
		if tool == "confirm_delete" {
			f.get("/mcp", id)
			f.withTasks("/mcp", "tasks/update", id, `"taskId":"`+id+`","inputResponses":{"confirm":{}}`)
			want += "- tasks/update confirm_delete ok\n"
		}
		eventually.True(t, "the task ends", func() bool { s := taskStatusIn(f.get("/mcp", id)); return s == "completed" || s == "failed" })
		f.get("/mcp", id)
		checkEqual(t, tool, f.history(), want+"- tasks/get "+tool+" "+string(end))
	}
}

// The tasks of 2025-11-25: the client asks for a task, and fetches its result. While the task needs
// input, the client is asked on the stream of that request.
func TestLegacyTasksPassThroughTheBridge(t *testing.T) {
	f := newTaskFixture(t)
	for _, path := range []string{"/mcp", "/s/one/mcp"} {
		prefix := map[string]string{"/mcp": "one__"}[path]
		session := f.openSession(path, `{"elicitation":{}}`, ClientHeader, "desk")
		other := f.openSession(path, `{}`, ClientHeader, "other")
		send := func(headers []string, method, params string) string {
			return onlyMessage(t, f.post(path, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`, headers...))
		}
		id := taskIDIn(t, send(session, "tools/call", `{"name":"`+prefix+`confirm_delete","arguments":{"filename":"f"},"task":{"ttl":60000}}`))
		about := `{"taskId":"` + id + `"}`
		require.Truef(t, strings.HasPrefix(id, prefix) && taskStatusIn(send(session, "tasks/get", about)) == "input_required", "%s: %s", path, id)
		assert.Contains(t, send(session, "tasks/list", `{}`), `"taskId":"`+id+`"`, path)
		assert.NotContains(t, send(other, "tasks/list", `{}`), "taskId", path)
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			checkEqual(t, method+" of another client", send(other, method, about), send(session, method, `{"taskId":"unknown"}`))
		}
		resp := f.post(path, `{"jsonrpc":"2.0","id":8,"method":"tasks/result","params":`+about+`}`, session...)
		var result string
		for m := range events(resp.Body) {
			if !strings.Contains(m, `"elicitation/create"`) {
				result = m
				continue
			}
			var ask struct{ ID string }
			_ = json.Unmarshal([]byte(m), &ask)
			assert.Contains(t, m, `"io.modelcontextprotocol/related-task":{"taskId":"`+id+`"}`, path)
			f.post(path, `{"jsonrpc":"2.0","id":"`+ask.ID+`","result":{"action":"accept","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"`+id+`"}}}}`, session...)
		}
		own := strings.TrimPrefix(id, prefix)
		if !strings.Contains(result, `deleted f {\"action\":\"accept\",\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"`+own+`\"}}}`) ||
			!strings.Contains(result, `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"`+id+`"}}`) {
			t.Errorf("%s: %s", path, result)
		}
	}
}

// At /mcp, tasks/list has one page for each server.
func TestLegacyTasksOfSeveralServersAreListedPageByPage(t *testing.T) {
	f := newTaskFixture(t)
	session := f.openSession("/mcp", `{}`)
	send := func(method, params string) string {
		return onlyMessage(t, f.post("/mcp", `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`, session...))
	}
	var want, got []string
	for _, server := range []string{"one", "two"} {
		want = append(want, taskIDIn(t, send("tools/call", `{"name":"`+server+`__slow_compute","arguments":{"seconds":60},"task":{}}`)))
	}
	for cursor := `{}`; cursor != ""; {
		text := send("tasks/list", cursor)
		var page struct {
			Result struct {
				Tasks      []struct{ TaskID string }
				NextCursor string
			}
		}
		err := json.Unmarshal([]byte(text), &page)
		require.True(t, err == nil && len(got) <= 2, text)
		for _, task := range page.Result.Tasks {
			got = append(got, task.TaskID)
		}
		if cursor = ""; page.Result.NextCursor != "" {
			cursor = `{"cursor":"` + page.Result.NextCursor + `"}`
		}
	}
	checkEqual(t, "tasks", fmt.Sprint(got), fmt.Sprint(want))
	for _, id := range want {
		if got := send("tasks/cancel", `{"taskId":"`+id+`"}`); taskStatusIn(got) != "cancelled" || taskIDIn(t, got) != id {
			t.Error(got)
		}
	}
}

// A server that is not available hides the tasks of no other server at /mcp. At its own address,
// the client gets the error.
func TestTasksOfOtherServersAreListedWhileOneIsNotAvailable(t *testing.T) {
	f := newTaskFixture(t)
	session := f.openSession("/mcp", `{}`, ClientHeader, "desk")
	send := func(path, method, params string, session []string) string {
		return onlyMessage(t, f.post(path, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`, session...))
	}
	id := taskIDIn(t, send("/mcp", "tools/call", `{"name":"two__slow_compute","arguments":{"seconds":60},"task":{}}`, session))
	f.mu.Lock()
	two := f.conns["twolegacy"]
	delete(f.conns, "onelegacy")
	f.mu.Unlock()
	first, last := send("/mcp", "tasks/list", `{}`, session), send("/mcp", "tasks/list", `{"cursor":"two"}`, session)
	if !strings.Contains(first, `"tasks":[]`) || !strings.Contains(first, `"nextCursor":"two"`) || !strings.Contains(last, `"taskId":"`+id+`"`) {
		t.Errorf("%s\n%s", first, last)
	}
	f.mu.Lock()
	f.conns["onelegacy"] = two
	delete(f.conns, "twolegacy")
	f.mu.Unlock()
	assert.Contains(t, send("/mcp", "tasks/list", `{"cursor":"two"}`, session), `{"tasks":[]}`)
	own := f.openSession("/s/two/mcp", `{}`, ClientHeader, "desk")
	assert.Contains(t, send("/s/two/mcp", "tasks/list", `{}`, own), "is not available (failed)")
}

// The table forgets the oldest task beyond the limit of a client, and each task after its ttl.
func TestTasksAreBoundedAndExpire(t *testing.T) {
	var table taskTable
	now := time.Now()
	add := func(owner string, n int) taskKey {
		key := taskKey{"s", fmt.Sprint(owner, n)}
		table.add(key, task{owner: taskOwner{token: owner}, status: "working", created: now.Add(time.Duration(n))}, time.Second, now)
		return key
	}
	kept := add("b", 0)
	for n := range maxTasksPerOwner + 1 {
		add("a", n)
	}
	find := func(key taskKey, owner string, at time.Time) bool {
		_, ok := table.find(key, taskOwner{token: owner}, at)
		return ok
	}
	if find(taskKey{"s", "a0"}, "a", now) || !find(taskKey{"s", "a1"}, "a", now) || !find(kept, "b", now) {
		t.Error("the oldest task of the client is not the one that is forgotten")
	}
	assert.False(t, find(kept, "a", now), "another client finds a task")
	if late := now.Add(taskGrace + 2*time.Second); find(kept, "b", late) {
		t.Error("a task is found after its ttl")
	} else if table.removeExpired(late); len(table.byKey) != 0 {
		t.Errorf("%d tasks are left", len(table.byKey))
	}
	for n := range maxTasks + 10 {
		add(fmt.Sprint("c", n%100), n)
	}
	assert.Truef(t, len(table.byKey) <= maxTasks, "%d tasks", len(table.byKey))
}

// notifications/tasks/status reaches the session that created the task, and no other one.
func TestLegacyTaskStatusReachesOnlyTheSessionOfTheTask(t *testing.T) {
	f := newTaskFixture(t)
	for i, path := range []string{"/mcp", "/s/one/mcp"} {
		prefix := map[string]string{"/mcp": "one__"}[path]
		owner, other := f.openSession(path, `{}`), f.openSession(path, `{}`)
		streams := map[string]*http.Response{"owner": f.request(http.MethodGet, path, "", owner...), "other": f.request(http.MethodGet, path, "", other...)}
		f.waitForOwnStreams(2 + 2*i)
		call := func(session []string) string {
			return taskIDIn(t, onlyMessage(t, f.post(path, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`+prefix+`slow_compute","arguments":{"seconds":60},"task":{}}}`, session...)))
		}
		ids := map[string]string{"owner": call(owner), "other": call(other)}
		for name, session := range map[string][]string{"owner": owner, "other": other} {
			f.post(path, `{"jsonrpc":"2.0","id":8,"method":"tasks/cancel","params":{"taskId":"`+ids[name]+`"}}`, session...)
		}
		for name, stream := range streams {
			for m := range events(stream.Body) { // the first one is enough: each stream gets only its own
				require.Contains(t, m, `"notifications/tasks/status"`, path)
				require.Contains(t, m, `"taskId":"`+ids[name]+`","status":"cancelled"`, path)
				break
			}
		}
	}
}

// After a restart of Drawbridge, a client finds the tasks that the history knows, and only its own.
func TestTasksAreRestoredForTheirClientOnly(t *testing.T) {
	f := newTaskFixture(t)
	id := taskIDIn(t, f.withTasks("/mcp", "tools/call", "one__confirm_delete", `"name":"one__confirm_delete"`, ClientHeader, "desk"))
	f.mu.Lock()
	created := f.recorded[0]
	f.mu.Unlock()
	record := core.TaskOwner{Task: *created.Task, Client: created.Client, Era: created.Era, Server: created.Server, Name: created.Name, PublicName: created.PublicName, Created: created.At, Updated: created.At}
	*f.bridge.tasks.table = taskTable{}
	require.Contains(t, f.get("/mcp", id, ClientHeader, "desk"), `"code":-32602`)
	old := record
	old.ID, old.Created, old.Updated = "old", record.Created.Add(-time.Hour), record.Updated.Add(-time.Hour)
	ofSession := record
	ofSession.ID, ofSession.Era, ofSession.Client = "session", core.Legacy, core.Client{}
	f.bridge.RestoreTasks([]core.TaskOwner{old, ofSession, record})
	assert.Equal(t, 1, f.bridge.tasks.table.count)
	unknown := f.get("/mcp", id+"x", ClientHeader, "other")
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		checkEqual(t, method+" of another client", f.withTasks("/mcp", method, id, `"taskId":"`+id+`"`, ClientHeader, "other"), unknown)
	}
	f.history()
	assert.Equal(t, "input_required", taskStatusIn(f.get("/mcp", id, ClientHeader, "desk")))
	f.withTasks("/mcp", "tasks/cancel", id, `"taskId":"`+id+`"`, ClientHeader, "desk")
	f.mu.Lock()
	defer f.mu.Unlock()
	require.NotEmpty(t, f.recorded, "requests about a restored task do not belong to its call")
	require.Equal(t, created.ID, f.recorded[0].Task.Call, "requests about a restored task do not belong to its call")
}

// Servers choose the ids of tasks. Two accounts may have the same id; within one account, the
// newest task has it, and the earlier client no longer reaches it.
func TestTasksWithTheSameIDAreNotMixedUp(t *testing.T) {
	var table taskTable
	now := time.Now()
	key := taskKey{"s", "1"}
	add := func(client, account string, call int64) {
		table.add(key, task{owner: taskOwner{token: client}, account: account, call: call, created: now}, time.Minute, now)
	}
	found := func(client string) int64 {
		t, _ := table.find(key, taskOwner{token: client}, now)
		return t.call
	}
	add("a", "home", 1)
	add("b", "work", 2)
	assert.True(t, len(table.all(key, now)) == 2 && found("a") == 1 && found("b") == 2 && found("c") == 0, "two accounts with the same id are mixed up")
	assert.False(t, table.observe(key, taskOwner{token: "c"}, &core.Task{Status: "completed"}, now), "another client changes a task")
	add("c", "home", 3)
	if found("a") != 0 || found("b") != 2 || found("c") != 3 || table.count != 2 {
		t.Errorf("%d %d %d, %d tasks", found("a"), found("b"), found("c"), table.count)
	}
	for n := range 5000 { // a server that creates thousands of tasks harms no other client for longer than necessary
		table.add(taskKey{"t", fmt.Sprint(n)}, task{owner: taskOwner{token: "d"}, created: now.Add(time.Duration(n))}, time.Minute, now)
	}
	assert.EqualValues(t, 2, found("b"))
	assert.Equal(t, 2+maxTasksPerOwner, table.count)
}
