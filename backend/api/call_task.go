package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
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
func (a *API) callAndAwait(ctx context.Context, call *core.Call) (core.Reply, error) {
	a.allowTask(call)
	reply, err := a.Calls.Call(ctx, call, nil)
	if err != nil || call.Task == nil || call.Outcome != core.OutcomeOK {
		return reply, err
	}
	w := &taskWaiter{calls: a.Calls, call: call, status: call.Task.Status}
	return w.result(ctx)
}

// allowTask changes a call so that its server may answer with a task: if the tool cannot be called
// in another way (revision 2025-11-25), or if the server has the extension.
func (a *API) allowTask(call *core.Call) {
	view, ok := a.Views.Server(call.Server)
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
	calls  Calls
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
