package history

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// A server may answer a call with a task, whose result the client fetches later. A call that the
// user makes waits for the result here, so that commands and the page need not know tasks.

const (
	tasksExtension = "io.modelcontextprotocol/tasks"

	taskCancelTimeout = 5 * time.Second
	minPollInterval   = 250 * time.Millisecond
	maxPollInterval   = 30 * time.Second
	maxPollFailures   = 3 // in a row; more could open the circuit breaker of the server
)

// callAndAwait makes a call and returns its reply, or the result of the task that the server has
// created.
func (f *Feature) callAndAwait(ctx context.Context, call *core.Call) (core.Reply, error) {
	f.allowTask(call)
	reply, err := f.Gateway.Call(ctx, call, nil)
	if err != nil || call.Task == nil || call.Outcome != core.OutcomeOK {
		return reply, err
	}
	w := &taskWaiter{calls: f.Gateway, call: call, status: call.Task.Status}
	return w.result(ctx)
}

// allowTask changes a call so that its server may answer with a task: if the tool cannot be called
// in another way (revision 2025-11-25), or if the server has the extension.
func (f *Feature) allowTask(call *core.Call) {
	view, ok := f.Views.Server(call.Server)
	if !ok {
		return
	}
	var tool struct{ Execution struct{ TaskSupport string } }
	if target, ok := view.LookupOwnName(core.Tools, call.Name); ok {
		_ = json.Unmarshal(target.Raw, &tool)
	}
	for _, o := range view.Offers() {
		var primary, modern struct {
			Tasks      json.RawMessage
			Extensions map[string]json.RawMessage
		}
		if o.Catalog == nil {
			continue
		}
		_ = json.Unmarshal(o.Catalog.Capabilities, &primary)
		_ = json.Unmarshal(o.Catalog.CapabilitiesIn(core.Modern), &modern)
		switch {
		case primary.Tasks != nil && tool.Execution.TaskSupport == "required":
			call.Params = append(call.Params[:len(call.Params)-1], `,"task":{}}`...)
		case modern.Extensions[tasksExtension] != nil:
			call.Era, call.Capabilities = core.Modern, []byte(`{"extensions":{"`+tasksExtension+`":{}}}`)
		}
	}
}

// taskWaiter waits for the end of the task that a call has created.
type taskWaiter struct {
	calls  Caller
	call   *core.Call
	status string // as last recorded
	ended  bool
}

// result polls until the task has ended. If ctx ends first, or the task cannot end without an
// answer of the client, the task is cancelled.
func (w *taskWaiter) result(ctx context.Context) (core.Reply, error) {
	defer func() {
		if !w.ended {
			ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), taskCancelTimeout)
			defer stop()
			_, _ = w.request(ctx, "tasks/cancel")
		}
	}()
	failures, ttl := 0, w.call.Task.TTL
	for interval := minPollInterval; core.Sleep(ctx, interval) && time.Now().Before(core.TaskExpiry(ttl, w.call.At, w.call.At).Add(maxPollInterval)); {
		reply, err := w.request(ctx, "tasks/get")
		if err != nil {
			ours, ok := errors.AsType[*core.Error](err)
			if failures++; failures == maxPollFailures || !ok || !ours.Retriable {
				return core.Reply{}, err
			}
			interval = min(2*interval, maxPollInterval)
			continue
		}
		failures = 0
		if len(reply.Error) > 0 { // the server has lost the task
			w.ended = true
			return reply, nil
		}
		state, ok := wire.ParseTask(reply.Result)
		if !ok {
			return core.Reply{}, core.Errorf(core.CodeUnavailable, "the server sent an invalid task")
		}
		ttl, interval = state.TTL, min(max(state.PollInterval, minPollInterval), maxPollInterval)
		switch {
		case w.call.Era == core.Legacy && (wire.TaskEnded(state.Status) || state.Status == "input_required"):
			reply, err = w.request(ctx, "tasks/result") // in which a server asks its questions
			w.ended = err == nil
			return reply, err
		case state.Status == "input_required":
			return core.Reply{}, core.Errorf(core.CodeUnavailable, "the tool needs input while it runs. Call it from a client that supports tasks")
		case wire.TaskEnded(state.Status):
			w.ended = true
			result := wire.TaskResult("tasks/get", reply)
			if result.Error == nil && !bytes.HasPrefix(result.Result, []byte("{")) {
				err = core.Errorf(core.CodeUnavailable, "the task has ended without a result: %s", cmp.Or(state.Message, state.Status))
			}
			return result, err
		}
	}
	return core.Reply{}, core.Errorf(core.CodeCancelled, "the task did not end in time and was cancelled")
}

// request makes a request about the task. Polls without news are not recorded.
func (w *taskWaiter) request(ctx context.Context, method string) (core.Reply, error) {
	c := w.call
	about := &core.Call{
		Client: c.Client, ByUser: true, Continues: true, Era: c.Era, Capabilities: c.Capabilities, Server: c.Server, Account: c.Account,
		Method: method, Name: c.Name, PublicName: c.PublicName, Params: append(wire.AppendString([]byte(`{"taskId":`), c.Task.ID), '}'),
		Task: &core.Task{Call: c.ID, ID: c.Task.ID, TTL: -1},
	}
	if method == "tasks/get" {
		about.WorthRecording = func(reply core.Reply) bool {
			news := reply.Task != nil && (reply.Task.HasResult || reply.Task.Status != w.status)
			if news {
				w.status = reply.Task.Status
			}
			return news
		}
	}
	return w.calls.Call(ctx, about, nil)
}

// resultOf returns the result of a call. A task that nobody asked for, or that cannot be used, is a failure.
func resultOf(call *core.Call, said core.Reply, err error) CallResult {
	result := parseToolResult(said, err)
	result.CallID = strconv.FormatInt(call.ID, 10)
	if result.Success && call.Outcome == core.OutcomeProtocolError {
		result.Success, result.Error = false, call.Reason
	}
	return result
}

// argumentsOf returns the arguments in the body of a request: an object, empty if there is none.
func argumentsOf(body web.JSON) ([]byte, error) {
	args := bytes.TrimSpace(body)
	if len(args) == 0 || string(args) == "null" {
		return []byte(`{}`), nil
	}
	if args[0] != '{' {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
			Fields: []core.FieldError{{Field: "body.arguments", Error: "must be a JSON object"}}}
	}
	return args, nil
}

// callParams are the params of a call with a progress token, so that observers see its progress.
func callParams(tool string, args []byte) (p json.RawMessage, arguments, token core.Span) {
	name, _ := json.Marshal(tool)
	p = append([]byte(`{"name":`), name...)
	p = append(p, `,"arguments":`...)
	start := len(p)
	p = append(p, args...)
	arguments = core.Span{Start: start, End: len(p)}
	p = append(p, `,"_meta":{"progressToken":`...)
	token = core.Span{Start: len(p), End: len(p) + 1}
	return append(p, `1}}`...), arguments, token
}

// toolResult holds the parts of a result that are needed here. The rest is in raw.
type toolResult struct {
	Content           []json.RawMessage `json:"content"`
	StructuredContent json.RawMessage   `json:"structuredContent"`
	IsError           bool              `json:"isError"`
}

func parseToolResult(r core.Reply, err error) CallResult {
	if err != nil {
		message, hint := core.Describe(err)
		if hint != "" {
			message += ". " + hint
		}
		return CallResult{Error: message, Code: core.CodeOf(err)}
	}
	if len(r.Error) > 0 {
		var e struct {
			Code    json.Number `json:"code"`
			Message string      `json:"message"`
		}
		_ = json.Unmarshal(r.Error, &e)
		text := e.Message
		if text == "" {
			text = core.Shorten(strings.ToValidUTF8(string(r.Error), "\ufffd"), 2000)
		}
		if e.Code != "" {
			text += " (code=" + e.Code.String() + ")"
		}
		return CallResult{Error: text, Raw: web.JSON(r.Error)}
	}
	var t toolResult
	if json.Unmarshal(r.Result, &t) != nil {
		return CallResult{Success: true, Raw: web.JSON(r.Result)}
	}
	var parts []string
	for _, c := range t.Content {
		parts = append(parts, contentText(c))
	}
	out := CallResult{Success: !t.IsError, Output: strings.Join(parts, "\n"), Raw: web.JSON(r.Result)}
	if string(t.StructuredContent) != "null" {
		out.Data = web.JSON(t.StructuredContent)
	}
	if t.IsError {
		out.Error = gateway.FailureOf(r.Result).Text
	}
	return out
}

// contentText returns a content block as text: the text, or a reference for other types.
func contentText(raw json.RawMessage) string {
	var c struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Data     string `json:"data"`
		MIMEType string `json:"mimeType"`
		URI      string `json:"uri"`
		Name     string `json:"name"`
		Size     int64  `json:"size"`
		Resource struct {
			URI      string `json:"uri"`
			MIMEType string `json:"mimeType"`
			Text     string `json:"text"`
			Blob     string `json:"blob"`
		} `json:"resource"`
	}
	_ = json.Unmarshal(raw, &c)
	switch c.Type {
	case "text":
		return c.Text
	case "image", "audio":
		return fmt.Sprintf("[%s %s, %d bytes]", c.Type, nameOrUnknown(c.MIMEType), decodedSize(c.Data))
	case "resource":
		size := len(c.Resource.Text)
		if c.Resource.Blob != "" {
			size = decodedSize(c.Resource.Blob)
		}
		return fmt.Sprintf("[resource %s %s, %d bytes]", c.Resource.URI, nameOrUnknown(c.Resource.MIMEType), size)
	case "resource_link":
		if c.Size > 0 {
			return fmt.Sprintf("[resource %s %s, %d bytes]", c.URI, nameOrUnknown(c.MIMEType), c.Size)
		}
		return fmt.Sprintf("[resource %s %s]", c.URI, nameOrUnknown(c.MIMEType))
	}
	return fmt.Sprintf("[%s, %d bytes of JSON]", nameOrUnknown(c.Type), len(raw))
}

// decodedSize is the number of bytes that a base64 text encodes.
func decodedSize(text string) int {
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(text, "=")))
}

func nameOrUnknown(s string) string {
	if s == "" {
		return "unknown type"
	}
	return s
}
