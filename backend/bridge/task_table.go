package bridge

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Limits of the tasks that the bridge knows: in total and for each client. Beyond them, the oldest
// one is forgotten.
const (
	maxTasks         = 4096
	maxTasksPerOwner = 256
)

// A task is kept for its ttl and taskGrace, because the server decides when it deletes the task. A
// task without a ttl is kept for unlimitedTask after the last request about it.
const (
	taskGrace     = 5 * time.Minute
	unlimitedTask = 24 * time.Hour
	maxTaskLife   = 7 * 24 * time.Hour
)

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

// task is a task that a server has created for a client.
type task struct {
	owner        taskOwner
	session      string // that created it; "" in the modern era
	tool, public string // the name of the tool, the server's own and the one that the client used
	workspace    string // of the call
	account      string // of the call
	status       string // as the client last saw it
	created      time.Time
	expires      time.Time
}

// taskState is the part of a task that the bridge reads. The fields are those of both eras.
type taskState struct {
	ID     string       `json:"taskId"`
	Status string       `json:"status"`
	TTL    *json.Number `json:"ttl"`
	TTLMs  *json.Number `json:"ttlMs"`
}

// taskTable holds the tasks of all clients. The zero value is ready to use.
type taskTable struct {
	mu    sync.Mutex
	byKey map[taskKey]*task
}

// find returns the task of a client.
func (t *taskTable) find(key taskKey, owner taskOwner, now time.Time) (task, bool) {
	found, ok := t.lookup(key, now)
	if !ok || found.owner != owner {
		return task{}, false
	}
	return found, true
}

// lookup returns the task of any client.
func (t *taskTable) lookup(key taskKey, now time.Time) (task, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.byKey[key]
	if found == nil || now.After(found.expires) {
		return task{}, false
	}
	return *found, true
}

// add adds a new task.
func (t *taskTable) add(key taskKey, added task, state taskState, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey == nil {
		t.byKey = map[taskKey]*task{}
	}
	added.created, added.status = now, state.Status
	added.setExpiry(state, now)
	t.byKey[key] = &added
	same := 0
	for _, other := range t.byKey {
		if other.owner == added.owner {
			same++
		}
	}
	if same > maxTasksPerOwner {
		t.removeOldest(func(other *task) bool { return other.owner == added.owner })
	}
	if len(t.byKey) > maxTasks {
		t.removeOldest(func(*task) bool { return true })
	}
}

// removeOldest must be called with t.mu held.
func (t *taskTable) removeOldest(among func(*task) bool) {
	var oldest taskKey
	var since time.Time
	for key, other := range t.byKey {
		if among(other) && (since.IsZero() || other.created.Before(since)) {
			oldest, since = key, other.created
		}
	}
	delete(t.byKey, oldest)
}

// observe updates a task by a reply about it, and reports whether its status has changed.
func (t *taskTable) observe(key taskKey, result []byte, now time.Time) (changed bool) {
	var state taskState
	if json.Unmarshal(result, &state) != nil || state.Status == "" {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.byKey[key]
	if found == nil {
		return false
	}
	changed = found.status != state.Status
	found.status = state.Status
	found.setExpiry(state, now)
	return changed
}

// setExpiry sets when a task is forgotten, by the ttl that the server stated last.
func (t *task) setExpiry(state taskState, now time.Time) {
	for _, ttl := range []*json.Number{state.TTLMs, state.TTL} {
		if ttl == nil {
			continue
		}
		if ms, err := ttl.Float64(); err == nil && ms >= 0 {
			t.expires = t.created.Add(taskGrace + time.Duration(min(ms, float64(maxTaskLife.Milliseconds())))*time.Millisecond)
			return
		}
	}
	t.expires = now.Add(unlimitedTask)
}

// removeExpired forgets expired tasks.
func (t *taskTable) removeExpired(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, old := range t.byKey {
		if now.After(old.expires) {
			delete(t.byKey, key)
		}
	}
}
