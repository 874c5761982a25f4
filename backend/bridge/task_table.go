package bridge

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Limits of the tasks that the bridge knows: in total and for each client. Beyond them, the oldest
// one is forgotten.
const (
	maxTasks         = 4096
	maxTasksPerOwner = 256
)

// taskGrace is how long a task is kept after it has expired, because the server decides when it
// deletes the task.
const taskGrace = 5 * time.Minute

// MaxTaskLife is the longest time for which a task is known.
const MaxTaskLife = core.MaxTaskLife + taskGrace

// taskKey identifies a task: ids are unique within one server.
type taskKey struct{ server, id string }

// taskOwner is the client that may use a task. A client without a token is known by its session.
type taskOwner struct {
	token, session string
	era            core.Era
}

func taskOwnerOf(rq *request) taskOwner {
	owner := taskOwner{token: rq.client.Token, era: rq.era}
	if owner.token == "" && rq.session != nil {
		owner.session = rq.session.id
	}
	return owner
}

type task struct {
	owner        taskOwner
	client       core.Client
	call         int64  // that created the task
	session      string // that created it; "" in the modern era
	shim         string // of the call
	tool, public string // the name of the tool, the server's own and the one that the client used
	workspace    string // of the call
	account      string // of the call
	launch       string // of its admission
	status       string // as the client last saw it
	hasResult    bool   // the client has seen the result
	created      time.Time
	expires      time.Time
}

// taskTable holds the tasks of all clients. The zero value is ready to use. Two accounts of a
// server are two processes, whose tasks may have the same id: a key then has a task for each
// account.
type taskTable struct {
	mu    sync.Mutex
	byKey map[taskKey][]*task
	count int
}

func (t *taskTable) find(key taskKey, owner taskOwner, now time.Time) (task, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found := t.owned(key, owner); found != nil && !now.After(found.expires) {
		return *found, true
	}
	return task{}, false
}

// owned returns the newest task of a client with the key, or nil. It must be called with t.mu held.
func (t *taskTable) owned(key taskKey, owner taskOwner) (newest *task) {
	for _, one := range t.byKey[key] {
		if one.owner == owner {
			newest = one
		}
	}
	return newest
}

// all returns the tasks with the key, oldest first.
func (t *taskTable) all(key taskKey, now time.Time) (tasks []task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.byKey[key] {
		if !now.After(one.expires) {
			tasks = append(tasks, *one)
		}
	}
	return tasks
}

// notified returns the task that a notification of a process of a server is about. Only the
// process that would serve requests about a task may report its state: ids of other processes may
// be equal, and another account must not reach the client.
func (ts *tasks) notified(server, process, id string) (task, bool) {
	for _, t := range slices.Backward(ts.table.all(taskKey{server, id}, ts.Now())) {
		own, err := "", error(nil)
		if ts.ProcessOf != nil {
			own, err = ts.ProcessOf(&core.Call{Client: t.client, Session: t.session, Shim: t.shim, Workspace: t.workspace, Account: t.account, Era: t.owner.era, Server: server})
		}
		if err == nil && own == process {
			return t, true
		}
	}
	ts.Log.Debug("Dropped a notification about a task: the process that sent it does not have this task", "server", server)
	return task{}, false
}

// add adds a new task. It replaces an older one with the same id of the same account, because the
// server has forgotten that one.
func (t *taskTable) add(key taskKey, added task, ttl time.Duration, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey == nil {
		t.byKey = map[taskKey][]*task{}
	}
	if slices.ContainsFunc(t.byKey[key], func(one *task) bool { return added.call != 0 && one.call == added.call }) {
		return // it was added when the reply arrived
	}
	added.setExpiry(ttl, now)
	t.remove(key, func(one *task) bool { return one.account == added.account })
	t.byKey[key] = append(t.byKey[key], &added)
	t.count++
	same := 0
	for _, all := range t.byKey {
		for _, one := range all {
			if one.owner == added.owner {
				same++
			}
		}
	}
	if same > maxTasksPerOwner {
		t.removeOldest(func(one *task) bool { return one.owner == added.owner })
	}
	if t.count > maxTasks {
		t.removeOldest(func(*task) bool { return true })
	}
}

// remove removes the tasks with the key that match. It must be called with t.mu held.
func (t *taskTable) remove(key taskKey, match func(*task) bool) {
	before := t.byKey[key]
	left := slices.DeleteFunc(before, match)
	t.count -= len(before) - len(left)
	if t.byKey[key] = left; len(left) == 0 {
		delete(t.byKey, key)
	}
}

// removeOldest must be called with t.mu held.
func (t *taskTable) removeOldest(among func(*task) bool) {
	var key taskKey
	var oldest *task
	for k, all := range t.byKey {
		for _, one := range all {
			if among(one) && (oldest == nil || one.created.Before(oldest.created)) {
				key, oldest = k, one
			}
		}
	}
	t.remove(key, func(one *task) bool { return one == oldest })
}

// observe updates the task of a client by a reply about it, and reports whether the reply has news.
func (t *taskTable) observe(key taskKey, owner taskOwner, state *core.Task, now time.Time) (news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.owned(key, owner)
	if found == nil || state == nil || state.Status == "" && !state.HasResult {
		return false
	}
	news = state.HasResult && !found.hasResult
	found.hasResult = found.hasResult || state.HasResult
	if state.Status != "" {
		news = news || found.status != state.Status
		found.status = state.Status
		found.setExpiry(state.TTL, now)
	}
	return news
}

// setExpiry sets when a task is forgotten, by the ttl that the server stated last.
func (t *task) setExpiry(ttl time.Duration, now time.Time) {
	t.expires = core.TaskExpiry(ttl, t.created, now).Add(taskGrace)
}

func (t *taskTable) removeExpired(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.byKey {
		t.remove(key, func(one *task) bool { return now.After(one.expires) })
	}
}

// MaxRestoredTasks is the maximum number of tasks that RestoreTasks uses.
const MaxRestoredTasks = maxTasks

// restore implements [Bridge.RestoreTasks].
func (ts *tasks) restore(recorded []core.TaskOwner) {
	for _, r := range recorded {
		if r.Era == core.Legacy && r.Client.Token == "" {
			continue // it belonged to a session
		}
		t := task{owner: taskOwner{token: r.Client.Token, era: r.Era}, client: r.Client, call: r.Call, tool: r.Name, public: r.PublicName, workspace: r.Workspace, account: r.Account, status: r.Status, hasResult: r.HasResult, created: r.Created}
		ts.table.add(taskKey{r.Server, r.ID}, t, r.TTL, r.Updated)
	}
	ts.table.removeExpired(ts.Now())
}

// A modern client names the tasks whose state it wants to be notified of in subscriptions/listen.

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

// requested returns the tasks that a client names in subscriptions/listen. Tasks that it does
// not own are left out, as if they did not exist.
func (ts *tasks) requested(rq *request) map[taskKey]task {
	var params struct {
		Notifications struct {
			TaskIDs []string `json:"taskIds"`
		} `json:"notifications"`
	}
	if json.Unmarshal(rq.params, &params) != nil || !hasExtension(rq.capabilities, tasksExtension) {
		return nil
	}
	offers := ts.views.of(rq.endpoint, rq.client.Token).Offers()
	tasks := map[taskKey]task{}
	for _, public := range params.Notifications.TaskIDs {
		server, id := ownTaskID(rq.endpoint, public)
		t, ok := ts.table.find(taskKey{server, id}, taskOwnerOf(rq), ts.Now())
		if ok && hasServer(offers, server) && len(tasks) < maxTasksPerOwner {
			tasks[taskKey{server, id}] = t
		}
	}
	return tasks
}

// publicTaskIDs returns the ids of tasks as a client knows them.
func publicTaskIDs(ep endpoint, tasks map[taskKey]task) (ids []string) {
	for key := range tasks {
		if ep.server == "" {
			ids = append(ids, publicTaskID(key.server)(key.id))
		} else {
			ids = append(ids, key.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// listen asks the servers of tasks for notifications, until stop is called.
func (ts *tasks) listen(l *listener, tasks map[taskKey]task) (stop func()) {
	change := func(by int) {
		for key, t := range tasks {
			ts.listened.change(listenedKey{key, t.account}, by)
		}
		ts.run(func() {
			for key, t := range tasks {
				ts.askFor(l, key, t)
			}
		})
	}
	change(1)
	return func() { change(-1) }
}

// askFor asks a server for the notifications about a task, or to end them, whichever it needs.
// If that fails, the client has to poll, as it may at any time.
func (ts *tasks) askFor(l *listener, key taskKey, t task) {
	listened := listenedKey{key, t.account}
	for method := ts.listened.next(listened); method != ""; method = ts.listened.next(listened) {
		now := ts.Now()
		call := &core.Call{
			At: now.UTC(), Began: now, Client: l.client, Shim: l.origin.shim, Workspace: t.workspace, Account: t.account, Era: core.Modern, Capabilities: l.capabilities,
			Server: key.server, Name: t.tool, PublicName: t.public, Method: method, Params: append(wire.AppendString([]byte(`{"taskId":`), key.id), '}'),
			Continues: true, WorthRecording: func(core.Reply) bool { return false },
		}
		if t.call != 0 {
			call.Task = &core.Task{Call: t.call, ID: key.id, TTL: -1}
		}
		if _, err := ts.Gateway.Call(ts.lifetime, call, discardMessageHandler{}); err != nil {
			ts.Log.Debug("Cannot subscribe to the notifications of a task", "server", key.server, "error", err)
		}
		ts.listened.sent(listened)
	}
}

// connectionChanged implements [Bridge.ModernConnectionChanged].
func (ts *tasks) connectionChanged(server string) {
	ts.listened.forget(server)
	for _, l := range ts.listeners.all() {
		for key, owner := range l.tasks {
			if t, ok := ts.table.find(key, owner, ts.Now()); ok && key.server == server && !wire.TaskEnded(t.status) {
				ts.run(func() { ts.askFor(l, key, t) })
			}
		}
	}
}

// updated implements [Bridge.ModernTaskUpdated].
func (ts *tasks) updated(server, process string, params json.RawMessage) {
	state, _ := wire.ParseTask(params)
	key := taskKey{server, state.ID}
	t, ok := ts.notified(server, process, state.ID)
	if !ok {
		return
	}
	ts.recordEnd(server, "notifications/tasks", params, t)
	for _, l := range ts.listeners.all() {
		owner, wanted := l.tasks[key]
		if !wanted {
			continue
		}
		ep, refusal := ts.views.authorize(l.endpoint, l.currentOrigin())
		view := ts.views.of(ep, l.origin.token)
		if owner != t.owner || refusal != "" || !hasServer(view.Offers(), server) {
			continue
		}
		update := []byte(params)
		if ep.server == "" {
			update = rewriteURIs(view, server, rewriteTaskIDs(update, publicTaskID(server)), (*uriRewriter).task)
		}
		l.notify("task "+server+" "+state.ID, "notifications/tasks", update)
	}
}
