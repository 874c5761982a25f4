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

// taskListeners counts the listeners of each task, so that a server is asked for notifications once.
// The zero value is ready to use.
type taskListeners struct {
	mu    sync.Mutex
	count map[taskKey]int
}

// change adds by to the number of listeners of a task, and reports whether it was or is now zero.
func (t *taskListeners) change(key taskKey, by int) (edge bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == nil {
		t.count = map[taskKey]int{}
	}
	before := t.count[key]
	if t.count[key] = before + by; t.count[key] == 0 {
		delete(t.count, key)
	}
	return before == 0 || before+by == 0
}

// requestedTasks returns the tasks that a client names in subscriptions/listen. Tasks that it does not
// own are left out, as if they did not exist.
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
func (b *Bridge) serveTaskSubscriptions(ctx context.Context, x *exchange, rq *request, ss *mcp.ServerSession, wanted *mcp.NotificationSubscriptions, tasks map[taskKey]task) (mcp.Result, error) {
	for _, uri := range wanted.ResourceSubscriptions {
		if err := b.subscribe(ctx, &mcp.SubscribeRequest{Session: ss, Params: &mcp.SubscribeParams{URI: uri}}); err != nil {
			return nil, err
		}
	}
	defer b.unsubscribeAll(ss)
	var ids []string
	for key, t := range tasks {
		if b.taskListeners.change(key, 1) {
			b.subscribeTask(ctx, rq, key, t, core.SubscribeTask)
		}
		defer func() {
			if b.taskListeners.change(key, -1) {
				b.subscribeTask(b.lifetime, rq, key, t, core.UnsubscribeTask)
			}
		}()
		if rq.endpoint.server == "" {
			ids = append(ids, publicTaskID(key.server)(key.id))
		} else {
			ids = append(ids, key.id)
		}
	}
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
	return &answered{}, nil
}

// subscribeTask starts or ends the notifications of a server about a task. If it fails, the client has
// to poll, as it may at any time.
func (b *Bridge) subscribeTask(ctx context.Context, rq *request, key taskKey, t task, method string) {
	call := b.newTaskCall(rq, key.server, key.id, t)
	call.Method, call.Params = method, append(wire.AppendString([]byte(`{"taskId":`), key.id), '}')
	call.Arguments, call.Meta, call.ProgressToken, call.HasModernMeta = core.Span{}, core.Span{}, core.Span{}, false
	call.Notable = func(core.Reply) bool { return false }
	if _, err := b.Gateway.Call(ctx, call, discardSink{}); err != nil {
		b.Log.Debug("Cannot listen to a task", "server", key.server, "error", err)
	}
}

// TaskUpdated forwards notifications/tasks to the modern listeners that named the task and belong to
// the client that created it. params is raw. It does not block.
func (b *Bridge) TaskUpdated(server string, params json.RawMessage) {
	state, _ := wire.ParseTask(params)
	key := taskKey{server, state.ID}
	t, ok := b.tasks.only(key, b.Now())
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
