package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A modern client names the tasks whose state it wants to be notified of in subscriptions/listen.
// go-sdk does not know them, so the bridge answers such a request itself.

// taskListeners counts the listeners of each task, so that a server is asked for notifications
// once. The zero value is ready to use.
type taskListeners struct {
	mu     sync.Mutex
	byTask map[listenedKey]*listenedTask
}

// listenedKey identifies a task among those of all accounts of its server.
type listenedKey struct {
	taskKey
	account string
}

type listenedTask struct {
	listeners int
	asked     bool // the server was asked for notifications
	busy      bool // a request to the server is in flight
}

// change adds by to the number of listeners of a task.
func (t *taskListeners) change(key listenedKey, by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byTask == nil {
		t.byTask = map[listenedKey]*listenedTask{}
	}
	if t.byTask[key] == nil {
		t.byTask[key] = new(listenedTask)
	}
	t.byTask[key].listeners += by
}

// next returns the request that the server of a task needs now, or "". After the request, the
// caller must call sent. One request at a time is in flight, so that none overtakes another.
func (t *taskListeners) next(key listenedKey) (method string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch one := t.byTask[key]; {
	case one == nil || one.busy:
	case one.listeners > 0 && !one.asked:
		one.busy, one.asked = true, true
		return core.SubscribeTask
	case one.listeners == 0 && one.asked:
		one.busy, one.asked = true, false
		return core.UnsubscribeTask
	case one.listeners == 0:
		delete(t.byTask, key)
	}
	return ""
}

func (t *taskListeners) sent(key listenedKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byTask[key].busy = false
}

// forget is called when a server has lost its connection, and with it what it was asked for.
func (t *taskListeners) forget(server string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, one := range t.byTask {
		if key.server == server {
			one.asked = false
		}
	}
}

// requestedTasks returns the tasks that a client names in subscriptions/listen. Tasks that it does
// not own are left out, as if they did not exist.
func (b *Bridge) requestedTasks(rq *request) map[taskKey]task {
	var params struct {
		Notifications struct {
			TaskIDs []string `json:"taskIds"`
		} `json:"notifications"`
	}
	if json.Unmarshal(rq.params, &params) != nil || !hasExtension(rq.capabilities, tasksExtension) {
		return nil
	}
	offers := b.view(rq.endpoint, rq.client.Token).Offers()
	tasks := map[taskKey]task{}
	for _, public := range params.Notifications.TaskIDs {
		server, id := ownTaskID(rq.endpoint, public)
		t, ok := b.tasks.find(taskKey{server, id}, taskOwnerOf(rq), b.Now())
		if ok && hasServer(offers, server) && len(tasks) < maxTasksPerOwner {
			tasks[taskKey{server, id}] = t
		}
	}
	return tasks
}

// serveTaskSubscriptions answers subscriptions/listen until ctx ends.
func (b *Bridge) serveTaskSubscriptions(ctx context.Context, x *exchange, rq *request, wanted *mcp.NotificationSubscriptions, tasks map[taskKey]task) (mcp.Result, error) {
	var ids []string
	l := x.listener
	for key, t := range tasks {
		b.taskListeners.change(listenedKey{key, t.account}, 1)
		if rq.endpoint.server == "" {
			ids = append(ids, publicTaskID(key.server)(key.id))
		} else {
			ids = append(ids, key.id)
		}
	}
	ask := func() {
		for key, t := range tasks {
			b.askForTask(l, key, t)
		}
	}
	b.runInBackground(ask)
	defer func() {
		for key, t := range tasks {
			b.taskListeners.change(listenedKey{key, t.account}, -1)
		}
		b.runInBackground(ask)
	}()
	slices.Sort(ids)
	accepted, err := json.Marshal(struct {
		*mcp.NotificationSubscriptions
		TaskIDs []string `json:"taskIds"`
	}{wanted, ids})
	if err != nil {
		return nil, err
	}
	meta := slices.Concat([]byte(`"_meta":{"`+wire.MetaSubscriptionID+`":`), x.id(), []byte{'}'})
	x.response.takeFromSDK()
	params := slices.Concat([]byte(`{"notifications":`), accepted, []byte{','}, meta, []byte{'}'})
	if err := x.response.sendEvent(wire.AppendNotification(nil, "notifications/subscriptions/acknowledged", params)); err == nil {
		b.attachStream(x.listener, x.response)
		<-ctx.Done()
	}
	result := slices.Concat([]byte(`{"resultType":"complete",`), meta, []byte{'}'})
	x.response.reply(200, wire.AppendResult(nil, x.id(), result))
	return &alreadyAnsweredResult{}, nil
}

// askForTask asks a server for the notifications about a task, or to end them, whichever it needs.
// If that fails, the client has to poll, as it may at any time.
func (b *Bridge) askForTask(l *listener, key taskKey, t task) {
	listened := listenedKey{key, t.account}
	for method := b.taskListeners.next(listened); method != ""; method = b.taskListeners.next(listened) {
		now := b.Now()
		call := &core.Call{
			At: now.UTC(), Began: now, Client: l.client, Shim: l.origin.shim, Workspace: t.workspace, Account: t.account, Era: core.Modern, Capabilities: l.capabilities,
			Server: key.server, Name: t.tool, PublicName: t.public, Method: method, Params: append(wire.AppendString([]byte(`{"taskId":`), key.id), '}'),
			Continues: true, WorthRecording: func(core.Reply) bool { return false },
		}
		if t.call != 0 {
			call.Task = &core.Task{Call: t.call, ID: key.id, TTL: -1}
		}
		if _, err := b.Gateway.Call(b.lifetime, call, discardMessageHandler{}); err != nil {
			b.Log.Debug("Cannot subscribe to the notifications of a task", "server", key.server, "error", err)
		}
		b.taskListeners.sent(listened)
	}
}

// ModernConnectionChanged is called when the modern connection of a server was opened or has ended.
// The server is asked again for the notifications that clients wait for. It does not block.
func (b *Bridge) ModernConnectionChanged(server string) {
	b.taskListeners.forget(server)
	for _, l := range b.listeners.all() {
		for key, owner := range l.tasks {
			if t, ok := b.tasks.find(key, owner, b.Now()); ok && key.server == server && !wire.TaskEnded(t.status) {
				b.runInBackground(func() { b.askForTask(l, key, t) })
			}
		}
	}
}

// ModernTaskUpdated forwards notifications/tasks of a process of a server to the modern listeners
// that named the task and belong to the client that created it there. params is raw. It does not
// block.
func (b *Bridge) ModernTaskUpdated(server, process string, params json.RawMessage) {
	state, _ := wire.ParseTask(params)
	key := taskKey{server, state.ID}
	t, ok := b.notifiedTask(server, process, state.ID)
	if !ok {
		return
	}
	b.recordTaskEnd(server, "notifications/tasks", params, t)
	for _, l := range b.listeners.all() {
		owner, wanted := l.tasks[key]
		if !wanted {
			continue
		}
		ep, refusal := b.authorizeEndpoint(l.endpoint, l.currentOrigin())
		view := b.view(ep, l.origin.token)
		if owner != t.owner || refusal != "" || !hasServer(view.Offers(), server) {
			continue
		}
		update := []byte(params)
		if ep.server == "" {
			update = rewriteURIs(view, server, rewriteTaskIDs(update, publicTaskID(server)), (*uriRewriter).task)
		}
		l.mu.Lock()
		if l.stream != nil {
			l.enqueue(b, "task "+server+" "+state.ID, "notifications/tasks", update)
		}
		l.mu.Unlock()
	}
}
