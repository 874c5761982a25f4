package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Task is the part of a task that Drawbridge reads. The fields are those of both eras.
type Task struct {
	ID, Status, Message string
	TTL                 time.Duration // negative: the server does not limit it, or does not say
	PollInterval        time.Duration // that the server wants; 0 if it does not say
	Result, Error       core.Span     // of the call; empty unless the task has ended
}

// maxTaskTTL bounds the ttl that a server can state.
const maxTaskTTL = 365 * 24 * time.Hour

// ParseTask parses the state of a task: the result of tasks/get, or the params of a notification about
// a task. It returns false if raw has no status, and nothing if a key occurs twice.
func ParseTask(raw []byte) (t Task, ok bool) {
	t.TTL = -1
	text := func(s core.Span) string {
		v, _ := Unquote(Bytes(raw, s))
		return v
	}
	err := Members(raw, func(m Member) error {
		switch string(m.Name) {
		case "taskId":
			t.ID = text(m.Value)
		case "status":
			t.Status = text(m.Value)
		case "statusMessage":
			t.Message = text(m.Value)
		case "ttl", "ttlMs":
			t.TTL = taskDuration(Bytes(raw, m.Value))
		case "pollInterval", "pollIntervalMs":
			t.PollInterval = max(0, taskDuration(Bytes(raw, m.Value)))
		case "result":
			t.Result = m.Value
		case "error":
			t.Error = m.Value
		}
		return nil
	})
	if err != nil {
		return Task{TTL: -1}, false
	}
	return t, t.Status != ""
}

// taskDuration parses a number of milliseconds. It is negative if raw is none.
func taskDuration(raw []byte) time.Duration {
	ms, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || ms < 0 {
		return -1
	}
	return time.Duration(min(ms, float64(maxTaskTTL.Milliseconds()))) * time.Millisecond
}

// Errors of ParseNewTask.
var (
	errInvalidTask = errors.New("the server sent an invalid task")
	ErrUnaskedTask = errors.New("the server sent a task for a call that did not ask for one")
)

var taskKey, taskIDKey, asciiEscape = []byte(`"task"`), []byte(`"taskId"`), []byte(`\u00`)

// MentionsTask reports whether raw may have a key of tasks. It is a quick check of the raw text, in which
// a letter may be spelled from \u0041 to \u007a.
func MentionsTask(raw []byte) bool {
	if bytes.Contains(raw, taskIDKey) || bytes.Contains(raw, taskKey) {
		return true
	}
	for {
		i := bytes.Index(raw, asciiEscape)
		if i < 0 {
			return false
		}
		raw = raw[i+len(asciiEscape):]
		if len(raw) > 0 && '4' <= raw[0] && raw[0] <= '7' {
			return true
		}
	}
}

// ParseNewTask parses the task that a server has created in place of the result of a tool call with the
// params. created is false for any other result. A task that a client could read differently is an error.
func ParseNewTask(era core.Era, params, result []byte) (t Task, created bool, err error) {
	if !MentionsTask(result) {
		return Task{}, false, nil
	}
	state, content := result, false
	read := Members(result, func(m Member) error {
		value := Bytes(result, m.Value)
		switch string(m.Name) {
		case "resultType":
			kind, _ := Unquote(value)
			created = created || era == core.Modern && kind == "task"
		case "task":
			if era == core.Legacy {
				state, created = value, true
			}
		case "content":
			content = true
		}
		return nil
	})
	if read != nil { // such as a key that occurs twice
		if isTaskInAnyReading(era, result) {
			return Task{}, false, errInvalidTask
		}
		return Task{}, false, nil
	}
	if !created {
		return Task{}, false, nil
	}
	t, _ = ParseTask(state)
	asked := era == core.Modern || hasMember(params, "task")
	switch {
	case content && t.ID == "" && era == core.Legacy: // a result with another member of this name
		return Task{}, false, nil
	case !asked:
		return Task{}, false, ErrUnaskedTask
	case t.ID == "":
		return Task{}, false, errInvalidTask
	}
	return t, true, nil
}

// isTaskInAnyReading reports whether an object whose keys are not unique is a task by any of them.
func isTaskInAnyReading(era core.Era, object []byte) bool {
	d := json.NewDecoder(bytes.NewReader(object))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return false
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return false
		}
		kind, _ := Unquote(value)
		if key == "resultType" && era == core.Modern && kind == "task" || key == "task" && era == core.Legacy && value[0] == '{' {
			return true
		}
	}
	return false
}

// IsReadableTask reports whether the result of a request about a task means the same to every reader: its
// keys are unique, and its taskId, if any, is not an empty string.
func IsReadableTask(result []byte) bool {
	readable := true
	err := Members(result, func(m Member) error {
		if string(m.Name) == "taskId" {
			id, ok := Unquote(Bytes(result, m.Value))
			readable = ok && id != ""
		}
		return nil
	})
	return err == nil && readable
}

func hasMember(object []byte, name string) (found bool) {
	_ = Members(object, func(m Member) error {
		found = found || string(m.Name) == name
		return nil
	})
	return found
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

// RelatedTaskID returns the id of the task that a message belongs to, by its scanned params. related is false
// if it names none, and id is "" if it names one in an unknown way.
func (p *Params) RelatedTaskID(params []byte) (id string, related bool) {
	object := Bytes(params, p.RelatedTask)
	if len(object) == 0 || string(object) == "null" {
		return "", false
	}
	_ = Members(object, func(m Member) error {
		if string(m.Name) == "taskId" {
			id, _ = Unquote(Bytes(object, m.Value))
		}
		return nil
	})
	return id, true
}
