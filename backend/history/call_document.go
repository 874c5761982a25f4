package history

import (
	"encoding/hex"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// Call is one recorded or running request.
type Call struct {
	ID            string       `json:"id" doc:"Decimal number; later calls have larger ones"`
	At            time.Time    `json:"at"`
	Client        string       `json:"client" doc:"Name that the application reports"`
	ClientVersion string       `json:"clientVersion"`
	Token         string       `json:"token" doc:"Name of the client's access token"`
	Session       string       `json:"session"`
	Era           core.Era     `json:"era" enum:"legacy,modern"`
	Server        string       `json:"server"`
	Tool          string       `json:"tool" doc:"The server's own name for the tool or prompt, or the URI of a resource"`
	PublicName    string       `json:"publicName"`
	Method        string       `json:"method"`
	FromServer    bool         `json:"fromServer"`
	Outcome       core.Outcome `json:"outcome" enum:",ok,tool_error,protocol_error,timeout,cancelled,rejected" doc:"Empty while in flight"`
	Code          core.Code    `json:"code"`
	Reason        string       `json:"reason"`
	TookNs        int64        `json:"tookNs"`
	QueuedNs      int64        `json:"queuedNs"`
	BytesIn       int          `json:"bytesIn"`
	BytesOut      int          `json:"bytesOut"`
	Attempts      int          `json:"attempts"`
	Instance      string       `json:"instance"`
	Progress      int          `json:"progress"`
	TraceID       string       `json:"traceId"`
	Workspace     string       `json:"workspace" doc:"Working directory of the client"`
	Account       string       `json:"account,omitempty" doc:"Account of the server that the call used; missing if the server has no accounts"`

	ServedBy  *ServedBy     `json:"servedBy,omitempty" doc:"What responded; missing if no server did"`
	Cached    bool          `json:"cached" doc:"Answered from the cache, without calling the server"`
	Approval  core.Approval `json:"approval" enum:",once,minutes,session,always,denied,expired,nobody" doc:"Decision of the user; empty if no approval was required"`
	Invalid   string        `json:"invalid,omitempty" doc:"Violation of the tool's outputSchema; set shortly after the call ends"`
	InvalidAs string        `json:"invalidAs,omitempty" enum:"warn,error" doc:"How the configuration treats such violations"`
	Task      *CallTask     `json:"task,omitempty" doc:"Set if the call created a task, or is a request about one"`
}

// CallTask is the task that a call created. Lists do not contain the requests about it, unless they
// are searched for words; once it has ended, outcome, reason, tookNs and bytesOut of the call are
// those of the task.
type CallTask struct {
	Call   string `json:"call" doc:"Id of the call that created the task; another one if this is a request about it"`
	ID     string `json:"id" doc:"As the server knows it; empty for requests about it"`
	Status string `json:"status" doc:"As the client last saw it, such as working or input_required; expired if the task expired before its end was seen"`
	Ended  bool   `json:"ended"`
}

// ServedBy is the version of a server and of its tool.
type ServedBy struct {
	Name       string `json:"name" doc:"Name that the server reports"`
	Version    string `json:"version" doc:"Version that the server reports"`
	Package    string `json:"package" doc:"Package with its version, or image, if known"`
	Definition string `json:"definition" doc:"Hash of the definition of the tool, hexadecimal; the same as in the tool changes"`
}

// CallDetail is a call with its recorded, redacted payloads.
type CallDetail struct {
	Call
	Arguments    string `json:"arguments,omitempty" doc:"JSON text"`
	Result       string `json:"result,omitempty" doc:"JSON text"`
	Error        string `json:"error,omitempty" doc:"JSON text: the JSON-RPC error"`
	Stack        string `json:"stack,omitempty" doc:"Stack trace of an internal error that ended the call"`
	ArgumentsCut *Cut   `json:"argumentsCut,omitempty" doc:"Set if the recorded arguments are truncated"`
	ReplyCut     *Cut   `json:"replyCut,omitempty" doc:"Set if the recorded result or error is truncated"`
	Note         *Note  `json:"note,omitempty" doc:"Note of the user"`

	ProgressLog []ProgressNotification `json:"progressLog,omitempty" doc:"The first progress notifications of the server, at most 100 and 16 KiB"`

	TaskCreated  string        `json:"taskCreated,omitempty" doc:"JSON text: the first reply to a call whose result is that of its task"`
	TaskRequests []TaskRequest `json:"taskRequests,omitempty" doc:"Recorded requests about the task of the call, oldest first"`
}

// ProgressNotification is a recorded progress notification.
type ProgressNotification struct {
	AfterMs int64  `json:"afterMs" doc:"Time since the call was sent, in milliseconds"`
	Params  string `json:"params" doc:"JSON text, without the progress token"`
}

// TaskRequest is a recorded request about a task. It is a call of its own, with payloads.
type TaskRequest struct {
	ID      string       `json:"id"`
	At      time.Time    `json:"at"`
	Method  string       `json:"method"`
	Outcome core.Outcome `json:"outcome" enum:"ok,tool_error,protocol_error,timeout,cancelled,rejected"`
}

// Cut describes a truncated payload.
type Cut struct {
	Size   int    `json:"size" doc:"Original size in bytes"`
	SHA256 string `json:"sha256,omitempty" doc:"SHA-256 of the original, hexadecimal"`
}

// CallRequest is a request to call a tool.
type CallRequest struct {
	Server    string   `json:"server" minLength:"1" maxLength:"256" server:"name" doc:"Server id or name"`
	Tool      string   `json:"tool" minLength:"1" maxLength:"512" doc:"The server's own name for the tool"`
	Arguments web.JSON `json:"arguments,omitempty" doc:"JSON object, passed on unchanged"`
	Account   string   `json:"account,omitempty" maxLength:"32" doc:"Account of the server; if missing, default"`
}

// LiveRequest is a request that a replay passes on to the recorded server.
type LiveRequest struct {
	Server string `json:"server" minLength:"1" maxLength:"256" server:"name" doc:"Server id or name"`
	Method string `json:"method" enum:"tools/call,prompts/get,resources/read"`
	Params string `json:"params" maxLength:"16777216" doc:"JSON text of an object, passed on unchanged"`
}

// LiveReply is the response of a server. One of the two is set.
type LiveReply struct {
	Result string `json:"result,omitempty" doc:"JSON text"`
	Error  string `json:"error,omitempty" doc:"JSON text: the JSON-RPC error"`
}

// CallResult is the result of a tool call, prepared for scripts.
type CallResult struct {
	Success bool      `json:"success"`
	Output  string    `json:"output" doc:"Text of the result; images and resources as references"`
	Data    web.JSON  `json:"data" doc:"Structured content, or null"`
	Error   string    `json:"error" doc:"Error message; empty on success"`
	Code    core.Code `json:"code,omitempty"`
	Raw     web.JSON  `json:"raw" doc:"Complete result, or the JSON-RPC error, or null"`
	CallID  string    `json:"callId"`
}

func newServedBy(by *core.ServedBy) *ServedBy {
	if by == nil {
		return nil
	}
	return &ServedBy{by.Name, by.Version, by.Package, store.FormatDefinition(by.Definition)}
}

// NewCall returns the document of a call.
func NewCall(c *core.Call) Call {
	invalid := core.SchemaMismatch{}
	if c.Verdict != nil {
		invalid = *c.Verdict
	}
	return Call{
		ID: strconv.FormatInt(c.ID, 10), At: c.At, Client: c.Client.Name, ClientVersion: c.Client.Version, Token: c.Client.Token,
		Session: c.Session, Era: c.Era, Server: c.Server, Tool: c.Name, PublicName: c.PublicName, Method: c.Method,
		FromServer: c.FromServer, Outcome: c.Outcome, Code: c.Code, Reason: c.Reason, TookNs: int64(c.Took), QueuedNs: int64(c.Queued),
		BytesIn: c.BytesIn, BytesOut: c.BytesOut, Attempts: c.Attempts, Instance: c.Instance, Progress: c.Progress, TraceID: c.TraceID, Workspace: c.Workspace, Account: c.Account,
		ServedBy: newServedBy(c.ServedBy), Cached: c.Cached, Approval: c.Approval,
		Invalid: invalid.Problem, InvalidAs: invalid.Level, Task: newCallTask(c.Task),
	}
}

func newCallTask(t *core.Task) *CallTask {
	if t == nil {
		return nil
	}
	return &CallTask{strconv.FormatInt(t.Call, 10), redact.Text(t.ID), t.Status, t.Ended}
}

func newCallDetail(r *store.Record) *CallDetail {
	d := &CallDetail{
		Call: NewCall(&r.Call), Arguments: string(r.Arguments), Result: string(r.Result), Error: string(r.Error), Stack: r.Stack,
		ArgumentsCut: newCut(r.ArgumentsCut), ReplyCut: newCut(r.ReplyCut),
	}
	for _, n := range r.ProgressLog {
		d.ProgressLog = append(d.ProgressLog, ProgressNotification{n.AfterMs, string(n.Params)})
	}
	if t := r.TaskState; t != nil {
		d.TaskCreated = string(t.Created)
		for _, step := range t.Requests {
			d.TaskRequests = append(d.TaskRequests, TaskRequest{strconv.FormatInt(step.ID, 10), step.At, step.Method, step.Outcome})
		}
	}
	if n := r.Note; n.Title != "" || n.Text != "" || len(n.Tags) > 0 {
		d.Note = &Note{n.Title, n.Text, web.NonNil(n.Tags)}
	}
	return d
}

func newCut(c *store.Cut) *Cut {
	if c == nil {
		return nil
	}
	return &Cut{c.Size, hex.EncodeToString(c.Hash)}
}

// Note is the note of the user on a call.
type Note struct {
	Title string   `json:"title" doc:"At most 500 characters"`
	Note  string   `json:"note" doc:"At most 5,000 characters"`
	Tags  []string `json:"tags" nullable:"false" doc:"At most 20, of 50 characters each"`
}

// NoteChange is a note to be written.
type NoteChange struct {
	Note
	Base *Note `json:"base,omitempty" doc:"Note that the edit is based on; if the stored note differs, nothing is written. Without it, any note is replaced"`
}

func (n *Note) stored() store.Note { return store.Note{Title: n.Title, Text: n.Note, Tags: n.Tags} }
