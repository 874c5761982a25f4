package wire

import (
	"bytes"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Task is the part of a task that Drawbridge reads. The fields are those of both eras.
type Task struct {
	ID, Status, Message string
	TTL                 time.Duration // negative: the server does not limit it, or does not say
	Result, Error       core.Span     // of the call; empty unless the task has ended
}

// maxTaskTTL bounds the ttl that a server can state.
const maxTaskTTL = 365 * 24 * time.Hour

// ParseTask parses the state of a task: the result of tasks/get, or the params of a notification about
// a task. It returns false if raw has no status.
func ParseTask(raw []byte) (t Task, ok bool) {
	t.TTL = -1
	text := func(s core.Span) string {
		v, _ := Unquote(Bytes(raw, s))
		return v
	}
	_ = Members(raw, func(m Member) error {
		switch string(m.Name) {
		case "taskId":
			t.ID = text(m.Value)
		case "status":
			t.Status = text(m.Value)
		case "statusMessage":
			t.Message = text(m.Value)
		case "ttl", "ttlMs":
			if ms, err := strconv.ParseFloat(string(Bytes(raw, m.Value)), 64); err == nil && ms >= 0 {
				t.TTL = time.Duration(min(ms, float64(maxTaskTTL.Milliseconds()))) * time.Millisecond
			}
		case "result":
			t.Result = m.Value
		case "error":
			t.Error = m.Value
		}
		return nil
	})
	return t, t.Status != ""
}

var taskIDKey = []byte(`"taskId"`)

// ParseNewTask parses the task that a server has created in place of the result of a tool call.
func ParseNewTask(era core.Era, result []byte) (t Task, ok bool) {
	if !bytes.Contains(result, taskIDKey) {
		return Task{}, false
	}
	state := result
	_ = Members(result, func(m Member) error {
		switch string(m.Name) {
		case "resultType":
			ok = ok || era == core.Modern && string(Bytes(result, m.Value)) == `"task"`
		case "task":
			if era == core.Legacy {
				state, ok = Bytes(result, m.Value), true
			}
		}
		return nil
	})
	if !ok {
		return Task{}, false
	}
	t, _ = ParseTask(state)
	return t, t.ID != ""
}

// TaskEnded reports whether a task with this status has ended.
func TaskEnded(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// TaskResult returns the result or the JSON-RPC error of a call in the reply to a request about its task,
// or in a notification about the task.
func TaskResult(method string, reply core.Reply) core.Reply {
	if method == "tasks/result" || len(reply.Error) > 0 {
		return reply
	}
	t, _ := ParseTask(reply.Result)
	switch {
	case !TaskEnded(t.Status):
	case !t.Error.Empty():
		return core.Reply{Error: Bytes(reply.Result, t.Error)}
	case !t.Result.Empty():
		return core.Reply{Result: Bytes(reply.Result, t.Result)}
	}
	return core.Reply{}
}
