package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// maxReason is the maximum length of Call.Reason, and of the excerpt of a result without a message,
// in characters.
const maxReason = 2000

// classify sets the outcome of a call. Code stays empty for a JSON-RPC error of the server.
func classify(call *core.Call, reply core.Reply, err error, at callStage) {
	switch {
	case err != nil:
		call.Code = core.CodeOf(err)
		call.Reason, _ = core.Describe(err)
		call.Reason = call.ReasonForUser(call.Reason)
		call.Outcome = failureOutcome(call.Code, at)
	case len(reply.Error) > 0:
		call.Outcome = core.OutcomeProtocolError
		call.BytesOut = len(reply.Error)
		var e struct{ Message string }
		if json.Unmarshal(reply.Error, &e) == nil {
			call.Reason = core.Shorten(e.Message, maxReason)
		}
	default:
		call.Outcome = core.OutcomeOK
		call.BytesOut = len(reply.Result)
		switch call.Method {
		case "tools/call", "tasks/result":
			classifyToolResult(call, reply.Result)
		case "tasks/get", taskNotification, taskStatusNotification:
			classifyTask(call, reply.Result)
		case "tasks/cancel":
			if state, _ := wire.ParseTask(reply.Result); state.Status == "failed" { // before it could be cancelled
				classifyTask(call, reply.Result)
			}
		}
	}
	if err == nil && (call.Task != nil || call.Method == "tools/call") {
		call.Task = taskAfter(call, reply)
	}
	call.Repaired = call.Repaired || reply.Repaired
	if call.Repaired && call.Outcome == core.OutcomeOK {
		call.Reason = "invalid Unicode was replaced"
	}
}

func classifyToolResult(call *core.Call, result []byte) {
	if !isError(result) {
		return
	}
	call.Outcome = core.OutcomeToolError
	f := FailureOf(result)
	call.Reason = core.Shorten(strings.TrimSuffix(f.Text, f.suffix), maxReason) + f.suffix
}

// Notifications about tasks that are recorded as requests about them.
const (
	taskNotification       = "notifications/tasks"
	taskStatusNotification = "notifications/tasks/status"
)

// classifyTask sets the outcome of a call that returned the state of a task: that of the task, if
// the task has ended.
func classifyTask(call *core.Call, state []byte) {
	task, _ := wire.ParseTask(state)
	switch task.Status {
	case "completed":
		classifyToolResult(call, wire.Bytes(state, task.Result))
	case "failed":
		var failure struct{ Message string }
		_ = json.Unmarshal(wire.Bytes(state, task.Error), &failure)
		call.Outcome, call.Reason = core.OutcomeProtocolError, core.Shorten(cmp.Or(failure.Message, task.Message), maxReason)
	case "cancelled":
		call.Outcome, call.Reason = core.OutcomeCancelled, core.Shorten(task.Message, maxReason)
	}
}

// taskAfter returns the task that a call has created, or the task that a request was about with its
// state after the request; nil if there is none. A call that created an invalid task has failed.
func taskAfter(call *core.Call, reply core.Reply) *core.Task {
	if call.Task == nil {
		if !wire.MentionsTask(reply.Result) {
			return nil
		}
		state, ok, err := wire.ParseNewTask(call.Era, call.Params, reply.Result)
		if err == nil && isUndeclaredTask(call, reply.Result) {
			ok, err = false, wire.ErrUnaskedTask
		}
		if err != nil {
			call.Outcome, call.Reason = core.OutcomeProtocolError, err.Error()
		}
		if !ok {
			return nil
		}
		if len(state.ID) > core.MaxTaskID {
			call.Outcome, call.Reason = core.OutcomeProtocolError, fmt.Sprintf("the server sent a task whose id is longer than %d bytes", core.MaxTaskID)
			return nil
		}
		return &core.Task{Call: call.ID, ID: state.ID, Status: shortStatus(state.Status), TTL: state.TTL}
	}
	after := *call.Task
	after.Status, after.TTL = "", -1
	switch state, ok := wire.ParseTask(reply.Result); {
	case call.Method == "tasks/result":
		after.Ended, after.HasResult = true, true
	case len(reply.Error) > 0:
		after.Ended = call.Method == "tasks/get" && isInvalidParams(reply.Error) // the server has lost the task
	case ok && call.Method != "tasks/update":
		after.Status, after.TTL, after.Ended = shortStatus(state.Status), state.TTL, wire.TaskEnded(state.Status)
		after.HasResult = after.Ended && (!state.Result.Empty() || !state.Error.Empty())
	}
	return &after
}

// isUndeclaredTask reports whether a server has created a task of the extension for a caller that
// does not declare the extension.
func isUndeclaredTask(call *core.Call, result []byte) bool {
	var has struct{ Extensions map[string]json.RawMessage }
	if call.Era == core.Modern && json.Unmarshal(call.Capabilities, &has) == nil && has.Extensions["io.modelcontextprotocol/tasks"] != nil {
		return false
	}
	_, created, _ := wire.ParseNewTask(core.Modern, call.Params, result)
	return created
}

func isInvalidParams(raw []byte) bool {
	var e struct{ Code int }
	return json.Unmarshal(raw, &e) == nil && e.Code == -32602
}

// shortStatus bounds the status of a task, which a server may invent.
func shortStatus(status string) string {
	return strings.ToValidUTF8(status[:min(len(status), maxTaskStatus)], "")
}

const maxTaskStatus = 40 // bytes

func failureOutcome(code core.Code, at callStage) core.Outcome {
	switch {
	case code == core.CodeCancelled:
		return core.OutcomeCancelled
	case at == stageAdmitting:
		return core.OutcomeRejected
	case code == core.CodeTimeout:
		return core.OutcomeTimeout
	}
	return core.OutcomeProtocolError
}

// isValidReply reports whether a client can read the reply: it is an error or an object, as every
// MCP result must be. Some servers send null as the empty result of resources/subscribe and
// resources/unsubscribe.
func isValidReply(method string, reply core.Reply) bool {
	if len(reply.Error) > 0 || len(reply.Result) > 0 && reply.Result[0] == '{' {
		return true
	}
	return method == "resources/subscribe" || method == "resources/unsubscribe"
}

var isErrorKey = []byte(`"isError"`)

// isError reports whether the result object has a member isError that is true. A result that does
// not contain "isError" costs one search; others are scanned without copying. The last of several
// members wins, as in encoding/json.
func isError(result []byte) (failed bool) {
	if !bytes.Contains(result, isErrorKey) {
		return false
	}
	err := wire.Members(result, func(m wire.Member) error {
		if string(m.Name) == "isError" {
			failed = string(wire.Bytes(result, m.Value)) == "true"
		}
		return nil
	})
	if err != nil { // a key that occurs twice
		var r struct {
			IsError bool `json:"isError"`
		}
		failed = json.Unmarshal(result, &r) == nil && r.IsError
	}
	return failed
}

// ToolFailure describes the error result of a tool.
type ToolFailure struct {
	Text      string          // the message, followed by the suffix
	Code      string          // the tool's own code, or ""
	Retriable *bool           // nil if unknown
	Cause     json.RawMessage // the whole structuredContent, or nil

	suffix string // the end of Text, such as " (code=E_TIMEOUT retriable=false)", or ""
}

// FailureOf extracts the message of an error result: structuredContent.message, else a string
// structuredContent.error, else error.message, else detail, else the text content, else an excerpt
// of the raw result. A suffix such as (code=E_TIMEOUT retriable=false) is appended.
func FailureOf(result []byte) ToolFailure {
	var r struct {
		Content           []json.RawMessage `json:"content"`
		StructuredContent json.RawMessage   `json:"structuredContent"`
	}
	_ = json.Unmarshal(result, &r)
	var f ToolFailure
	if s := r.StructuredContent; len(s) > 0 && string(s) != "null" {
		f.Cause = s
	}
	var fields, nested map[string]json.RawMessage
	_ = json.Unmarshal(f.Cause, &fields)
	_ = json.Unmarshal(fields["error"], &nested)
	for _, candidate := range []json.RawMessage{fields["message"], fields["error"], nested["message"], fields["detail"]} {
		if f.Text == "" {
			_ = json.Unmarshal(candidate, &f.Text)
			f.Text = strings.TrimSpace(f.Text)
		}
	}
	if f.Text == "" {
		f.Text = joinText(r.Content)
	}
	if f.Text == "" && f.Cause != nil {
		f.Text = excerpt(f.Cause)
	}
	if f.Text == "" {
		f.Text = excerpt(result)
	}
	f.Code = firstScalar(fields, nested, "code", "errorCode", "statusCode")
	f.Retriable = parseFlag(firstScalar(fields, nested, "retriable", "retryable"))
	var suffix []string
	if f.Code != "" {
		suffix = append(suffix, "code="+f.Code)
	}
	if f.Retriable != nil {
		suffix = append(suffix, "retriable="+map[bool]string{true: "true", false: "false"}[*f.Retriable])
	}
	if len(suffix) > 0 {
		f.suffix = " (" + strings.Join(suffix, " ") + ")"
		f.Text += f.suffix
	}
	return f
}

func joinText(content []json.RawMessage) string {
	var parts []string
	for _, raw := range content {
		var c struct{ Type, Text string }
		if json.Unmarshal(raw, &c) == nil && c.Type == "text" && strings.TrimSpace(c.Text) != "" {
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// firstScalar returns the first of the named members that is a string, number or boolean, in the
// structured content or in its error object.
func firstScalar(fields, nested map[string]json.RawMessage, names ...string) string {
	for _, from := range []map[string]json.RawMessage{fields, nested} {
		for _, name := range names {
			raw := from[name]
			if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null" {
				continue
			}
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			if text = strings.TrimSpace(text); text != "" && len(text) <= 100 {
				return text
			}
		}
	}
	return ""
}

// parseFlag parses a boolean in any of the notations that servers use.
func parseFlag(word string) *bool {
	yes := false
	switch strings.ToLower(word) {
	case "true", "1", "yes":
		yes = true
	case "false", "0", "no":
	default:
		return nil
	}
	return &yes
}

func excerpt(raw []byte) string {
	return core.Shorten(strings.ToValidUTF8(string(raw), "\ufffd"), maxReason)
}
