package bridge

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// notifications/tasks of the extension reach the client that created the task and asked for them,
// with the id that it knows, and no other client.
func TestTaskNotificationsReachOnlyTheListenersOfTheClient(t *testing.T) {
	f := newTaskFixture(t)
	for i, path := range []string{"/mcp", "/s/one/mcp"} {
		prefix := map[string]string{"/mcp": "one__"}[path]
		create := func(client string) string {
			return taskIDIn(t, f.withTasks(path, "tools/call", prefix+"slow_compute", `"name":"`+prefix+`slow_compute","arguments":{"seconds":60}`, ClientHeader, client))
		}
		mine, other := create("desk"), create("other")
		streams := map[string]<-chan string{mine: f.listen(path, "desk", mine, other, "two__x", "x"), other: f.listen(path, "other", other, mine)}
		for id, messages := range streams {
			ack := <-messages
			require.True(t, strings.Contains(ack, `"notifications/subscriptions/acknowledged"`) && strings.Contains(ack, `"taskIds":["`+id+`"]}`), ack)
		}
		f.waitForOwnStreams(2 + 2*i)
		wanted := []string{strings.TrimPrefix(mine, prefix), strings.TrimPrefix(other, prefix)}
		eventually.True(t, "the server is asked", func() bool { return mcptest.Listening(wanted...) })
		for client, id := range map[string]string{"desk": mine, "other": other} {
			f.withTasks(path, "tasks/cancel", id, `"taskId":"`+id+`"`, ClientHeader, client)
		}
		for id, messages := range streams {
			if m := <-messages; !strings.Contains(m, `"method":"notifications/tasks"`) || !strings.Contains(m, `"taskId":"`+id+`","status":"cancelled"`) || !strings.Contains(m, `subscriptionId":"m-1"`) {
				t.Errorf("%s: %s", path, m)
			}
			if len(messages) > 0 {
				t.Errorf("%s got more: %s", path, <-messages)
			}
		}
	}
}

// waitForOwnStreams waits until n listeners have a stream.
func (f *taskFixture) waitForOwnStreams(n int) { waitForStreams(f, f.bridge, n) }

func waitForStreams(t testing.TB, b *Bridge, n int) {
	t.Helper()
	eventually.True(t, "the streams are open", func() bool {
		open := 0
		for _, l := range b.listeners.all() {
			l.mu.Lock()
			if l.stream != nil {
				open++
			}
			l.mu.Unlock()
		}
		return open >= n
	})
}

// listen sends subscriptions/listen for tasks, and returns the messages of the stream.
func (f *taskFixture) listen(path, client string, ids ...string) <-chan string {
	f.Helper()
	list, _ := json.Marshal(ids)
	stream := f.modernAs(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, path, "subscriptions/listen", "", `"notifications":{"taskIds":`+string(list)+`}`, ClientHeader, client)
	messages := make(chan string, 100)
	go func() {
		for m := range events(stream.Body) {
			messages <- m
		}
		close(messages)
	}()
	return messages
}

// A client that listens to a task is notified of it after the connection to the server was
// replaced.
func TestTaskNotificationsSurviveARestartOfTheConnection(t *testing.T) {
	f := newTaskFixture(t)
	id := taskIDIn(t, f.withTasks("/mcp", "tools/call", "one__confirm_delete", `"name":"one__confirm_delete"`))
	messages := f.listen("/mcp", "", id)
	ack := <-messages
	require.Contains(t, ack, `"taskIds":["`+id+`"]}`)
	waitForStreams(t, f.bridge, 1)
	asked := func() bool { return mcptest.Listening(strings.TrimPrefix(id, "one__")) }
	eventually.True(t, "the server is asked", asked)
	_ = f.conns["onemodern"].Close(context.Background())
	f.bridge.ModernConnectionChanged("one")
	f.connect("one", core.Modern)
	f.bridge.ModernConnectionChanged("one")
	f.get("/mcp", id) // the new process takes the task over
	eventually.True(t, "the new process is asked", asked)
	f.withTasks("/mcp", "tasks/update", id, `"taskId":"`+id+`","inputResponses":{"confirm":{}}`)
	m := <-messages
	assert.Contains(t, m, `"taskId":"`+id+`","status":"completed"`)
}

// Clients that listen and stop at the same time leave the server asked exactly while one of them
// listens.
func TestRequestsForTaskNotificationsStayInOrder(t *testing.T) {
	var tasks taskListeners
	key := listenedKey{taskKey{"s", "1"}, ""}
	next := func(want string) {
		t.Helper()
		require.Equal(t, want, tasks.next(key))
	}
	tasks.change(key, 1)
	next(core.SubscribeTask)
	tasks.change(key, -1)
	next("") // the first request is in flight
	tasks.sent(key)
	next(core.UnsubscribeTask)
	tasks.change(key, 1)
	next("")
	tasks.sent(key)
	next(core.SubscribeTask)
	tasks.forget("s")
	tasks.sent(key)
	next(core.SubscribeTask)
	tasks.sent(key)
	next("")
	tasks.forget("s")
	tasks.change(key, -1)
	next("")
	assert.Empty(t, tasks.byTask)
}
