package core

import "time"

// Task is the task that a call has created, or that a request is about. It is not changed after it
// is set.
type Task struct {
	Call      int64         // id of the call that created the task
	ID        string        // as the server knows it
	Status    string        // after the request; "" if the reply does not tell
	TTL       time.Duration // as the server stated it; negative: not limited
	Ended     bool          // the request has returned the final state
	HasResult bool          // the request has returned the result or the error of the call
}

// MaxTaskID is the maximum length of the id of a task, in bytes. The call that creates a task with
// a longer one fails.
const MaxTaskID = 1024

// A task is known for its ttl, at most for MaxTaskLife. A task without a ttl is known for
// UnlimitedTaskLife after the last request about it.
const (
	MaxTaskLife       = 7 * 24 * time.Hour
	UnlimitedTaskLife = 24 * time.Hour
)

// TaskExpired is the status in the history of a task that has expired before it was seen to end.
const TaskExpired = "expired"

// TaskExpiry returns when a task expires. A negative ttl is not limited.
func TaskExpiry(ttl time.Duration, created, updated time.Time) time.Time {
	if ttl < 0 {
		return updated.Add(UnlimitedTaskLife)
	}
	return created.Add(min(ttl, MaxTaskLife))
}

// IsTaskRequest reports whether the call is a request about the task of another call.
func (c *Call) IsTaskRequest() bool { return c.Task != nil && c.Task.Call != c.ID }

// TaskOwner is who may use a task, as far as it is recorded, and what requests about the task need.
type TaskOwner struct {
	Task
	Client     Client
	Era        Era
	Server     string
	Name       string // of the tool
	PublicName string // name that the client used
	Workspace  string
	Account    string
	Created    time.Time
	Updated    time.Time // the last recorded request
}
