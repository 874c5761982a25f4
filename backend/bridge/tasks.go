package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// A task is a call whose server answers with an id, under which the client fetches the result
// later. The modern era has the extension io.modelcontextprotocol/tasks, revision 2025-11-25 has
// tasks of its own. The bridge sends a request about a task to the server that created the task, if
// the client is the one that called the tool.

// firstWithTasks is the only legacy revision with tasks.
const firstWithTasks = "2025-11-25"

func isTaskMethod(method string) bool { return strings.HasPrefix(method, "tasks/") }

// tasks serves requests about tasks, and forwards the messages of servers about them.
type tasks struct {
	*Options
	views     *views
	calls     *calls
	listeners *listeners
	table     *taskTable
	listened  taskListeners
	lifetime  context.Context // of the bridge
	run       func(func())    // runs a goroutine
}

func (ts *tasks) serve(ctx context.Context, rq *request, sink *callMessageHandler) (splitResult, *rpcError) {
	offers := ts.views.of(rq.endpoint, rq.client.Token).Offers()
	public, hasID := wire.Unquote(wire.Bytes(rq.params, rq.spans.TaskID))
	server, id := ownTaskID(rq.endpoint, public)
	key, owner := taskKey{server, id}, taskOwnerOf(rq)
	t, known := ts.table.find(key, owner, ts.Now())
	if rpcErr := checkTaskMethod(rq, offers, known); rpcErr != nil {
		return splitResult{}, rpcErr
	}
	if rq.method == "tasks/list" {
		return ts.list(ctx, rq, sink, offers)
	}
	if !hasID {
		return splitResult{}, newError(codeInvalidParams, "the params have no taskId")
	}
	if !known || !hasServer(offers, server) {
		return splitResult{}, newError(codeInvalidParams, "task not found: the id is unknown, or the task has expired")
	}
	call := ts.newCall(rq, server, id, t)
	if id != public {
		replaceParam(call, rq.spans.TaskID, id)
	}
	call.BytesIn = len(call.Params)
	ts.views.setOwnAnswers(rq, call)
	observe := func(reply core.Reply) (news bool) { return ts.table.observe(key, owner, reply.Task, ts.Now()) }
	if rq.method == "tasks/get" {
		call.WorthRecording = observe
	}
	if tool, ok := ts.views.of(rq.endpoint, rq.client.Token).Lookup(core.Tools, t.public); ok {
		prepareResult(rq, call, tool.Raw)
	}
	sink.server = server
	reply, err := ts.Gateway.Call(ctx, call, sink)
	if err == nil && rq.method != "tasks/result" && len(reply.Error) == 0 && !wire.IsReadableTask(reply.Result) {
		err = core.Errorf(core.CodeUnavailable, "server %q sent an invalid task", server)
	}
	if err == nil && rq.method != "tasks/get" {
		observe(reply)
	}
	if err == nil {
		reply = limitResult(rq, reply)
	}
	return ts.calls.result(rq, server, t.public, reply, err)
}

// newCall returns a call about a task. It is recorded as part of the call that created the
// task.
func (ts *tasks) newCall(rq *request, server, id string, t task) *core.Call {
	call := ts.calls.newCall(rq)
	if t.call != 0 {
		call.Task = &core.Task{Call: t.call, ID: id, TTL: -1}
	}
	call.Server, call.Name, call.PublicName, call.Workspace, call.Account, call.Continues = server, t.tool, t.public, t.workspace, t.account, true
	call.Admission.Launch = t.launch
	return call
}

// checkTaskMethod returns an error if the client may not use a method. A client that has a task may
// use it: a server that speaks both eras may declare tasks only in the one that is connected last.
func checkTaskMethod(rq *request, offers []registry.Offer, known bool) *rpcError {
	has := known || slices.ContainsFunc(offers, func(o registry.Offer) bool {
		return o.Catalog != nil && offersTasks(rq.era, o.Catalog.CapabilitiesIn(rq.era))
	})
	switch {
	case !has, rq.era == core.Legacy && rq.session.version < firstWithTasks:
		return newError(codeMethodNotFound, "method not found")
	case rq.era == core.Modern && !hasExtension(rq.capabilities, tasksExtension):
		return missingTasksError()
	}
	return nil
}

// missingTasksError returns the error for a client that does not declare the tasks extension.
func missingTasksError() *rpcError {
	return &rpcError{code: codeNeedsCapability, object: wire.ErrorObject(codeNeedsCapability,
		"the client must declare the extension "+tasksExtension, []byte(`{"requiredCapabilities":{"extensions":{"`+tasksExtension+`":{}}}}`))}
}

func offersTasks(era core.Era, capabilities []byte) bool {
	if era == core.Modern {
		return hasExtension(capabilities, tasksExtension)
	}
	return legacyTasksOf(capabilities) != nil
}

func legacyTasksOf(capabilities []byte) json.RawMessage {
	var has struct{ Tasks json.RawMessage }
	if json.Unmarshal(capabilities, &has) != nil || len(has.Tasks) == 0 || has.Tasks[0] != '{' {
		return nil
	}
	return has.Tasks
}

// legacyTasks returns the raw capability for tasks of 2025-11-25 at an endpoint: that of the
// server, or the union of all servers. It is nil if no server has tasks.
func legacyTasks(ep endpoint, offers []registry.Offer) []byte {
	var all struct {
		List     *struct{} `json:"list,omitempty"`
		Cancel   *struct{} `json:"cancel,omitempty"`
		Requests struct {
			Tools struct {
				Call *struct{} `json:"call,omitempty"`
			} `json:"tools"`
		} `json:"requests"`
	}
	found := false
	for _, o := range offers {
		if o.Catalog == nil {
			continue
		}
		tasks := legacyTasksOf(o.Catalog.Capabilities)
		if tasks != nil && ep.server != "" {
			return tasks
		}
		found = found || tasks != nil
		_ = json.Unmarshal(tasks, &all)
	}
	if !found {
		return nil
	}
	raw, _ := json.Marshal(all)
	return raw
}

func hasServer(offers []registry.Offer, server string) bool {
	return slices.ContainsFunc(offers, func(o registry.Offer) bool { return o.Server == server })
}

// unusableTaskError returns the error for the reply of a server with a task that the client cannot
// use.
func unusableTaskError(rq *request, server string, params, result []byte) error {
	if rq.method != "tools/call" || !wire.MentionsTask(result) {
		return nil
	}
	created, isNew, err := wire.ParseNewTask(rq.era, params, result)
	isModern := isNew
	if rq.era != core.Modern && err == nil {
		_, isModern, err = wire.ParseNewTask(core.Modern, params, result)
	}
	switch {
	case err != nil:
		return core.Errorf(core.CodeUnavailable, "cannot use a task of server %q: %v", server, err)
	case isModern && (rq.era != core.Modern || !hasExtension(rq.capabilities, tasksExtension)):
		return core.Errorf(core.CodeUnavailable, "server %q sent a task, although the client does not declare the extension %s", server, tasksExtension)
	case isNew && len(created.ID) > core.MaxTaskID:
		return core.Errorf(core.CodeUnavailable, "server %q sent a task whose id is longer than %d bytes", server, core.MaxTaskID)
	}
	return nil
}

// rememberTask adds the task that a server has created in place of a result.
func (cs *calls) rememberTask(rq *request, call *core.Call, reply core.Reply) {
	if t := reply.Task; t != nil && rq.method == "tools/call" {
		now := cs.Now()
		cs.tasks.add(taskKey{call.Server, t.ID}, task{
			owner: taskOwnerOf(rq), client: call.Client, call: t.Call, session: call.LegacySession(), shim: call.Shim, tool: call.Name, public: call.PublicName, workspace: call.Workspace, account: call.Account, launch: call.Admission.Launch,
			status: t.Status, created: now,
		}, t.TTL, now)
	}
}

// list answers tasks/list with the tasks of the client. A page has the tasks of one server; at
// an endpoint of several servers, the cursor begins with the server of the next page.
func (ts *tasks) list(ctx context.Context, rq *request, sink *callMessageHandler, offers []registry.Offer) (splitResult, *rpcError) {
	var servers []string
	for _, o := range offers {
		if o.Catalog != nil && listsTasks(o.Catalog.Capabilities) {
			servers = append(servers, o.Server)
		}
	}
	if len(servers) == 0 {
		return splitResult{}, newError(codeMethodNotFound, "method not found")
	}
	public, _ := wire.Unquote(wire.Bytes(rq.params, rq.spans.Cursor))
	server, cursor := servers[0], public
	if rq.endpoint.server == "" && public != "" {
		server, cursor, _ = strings.Cut(public, taskSeparator)
	}
	at := slices.Index(servers, server)
	if at < 0 {
		return splitResult{}, newError(codeInvalidParams, "invalid cursor")
	}
	call := ts.newCall(rq, server, "", task{})
	if rq.endpoint.server == "" && public != "" {
		if call.Params = []byte(`{}`); cursor != "" {
			call.Params = append(wire.AppendString([]byte(`{"cursor":`), cursor), '}')
		}
		call.Arguments, call.Meta, call.ProgressToken = core.Span{}, core.Span{}, core.Span{}
	}
	sink.server = server
	reply, err := ts.Gateway.Call(ctx, call, sink)
	if err != nil && ctx.Err() == nil && rq.endpoint.server == "" {
		reply, err = core.Reply{Result: []byte(`{"tasks":[]}`)}, nil // the tasks of the other servers are listed
	}
	if err == nil && len(reply.Error) == 0 {
		next := ""
		if at+1 < len(servers) {
			next = servers[at+1]
		}
		reply.Result = ts.ownTasks(rq, server, next, reply.Result)
	}
	return ts.calls.result(rq, server, "", reply, err)
}

func listsTasks(capabilities []byte) bool {
	var has struct{ List json.RawMessage }
	return json.Unmarshal(legacyTasksOf(capabilities), &has) == nil && has.List != nil
}

// ownTasks returns a result of tasks/list with only the tasks of the client. If the server has no
// further page, and next is not empty, the cursor leads to the server next.
func (ts *tasks) ownTasks(rq *request, server, next string, result []byte) []byte {
	var edits []wire.Edit
	more := false
	err := wire.Members(result, func(m wire.Member) error {
		switch string(m.Name) {
		case "tasks":
			list, kept := wire.Bytes(result, m.Value), []byte{'['}
			_ = wire.Elements(list, func(e core.Span) error {
				raw := wire.Bytes(list, e)
				state, _ := wire.ParseTask(raw)
				if _, own := ts.table.find(taskKey{server, state.ID}, taskOwnerOf(rq), ts.Now()); own {
					kept = append(append(kept, raw...), ',')
				}
				return nil
			})
			edits = append(edits, wire.Edit{Span: m.Value, With: append(bytes.TrimSuffix(kept, []byte{','}), ']')})
		case "nextCursor":
			cursor, ok := wire.Unquote(wire.Bytes(result, m.Value))
			if more = ok; ok && rq.endpoint.server == "" {
				edits = append(edits, wire.Edit{Span: m.Value, With: wire.AppendString(nil, server+taskSeparator+cursor)})
			}
		}
		return nil
	})
	if err != nil {
		return []byte(`{"tasks":[]}`) // not to be filtered safely
	}
	if !more && next != "" && rq.endpoint.server == "" {
		start := bytes.IndexByte(result, '{')
		edits = append([]wire.Edit{insertMember(start, result[start:], wire.AppendString([]byte(`"nextCursor":`), next))}, edits...)
	}
	return wire.Splice(nil, result, edits...)
}

// ask asks the session that created a task. If it cannot be asked, an elicitation is
// shown to the user.
func (ts *tasks) ask(ctx context.Context, server string, t task, method string, params json.RawMessage) (core.Reply, error) {
	named := append(wire.AppendString([]byte(`{"name":`), t.public), '}')
	spans, _ := wire.ScanParams(named)
	sink := &callMessageHandler{calls: ts.calls, server: server, rq: &request{era: core.Legacy, client: t.client, params: named, spans: &spans}}
	if ts.Credential != nil {
		sink.rq.credential, _ = ts.Credential(t.client.Token)
	}
	if l, ep := ts.listeners.reach(server, t.session); l != nil {
		if stream := l.openStream(); stream != nil {
			sink.rq.endpoint, sink.rq.session, sink.response = ep, l.session, stream
		}
	}
	cause := &core.Call{Client: t.client, Session: t.session, Shim: t.shim, Era: core.Legacy, Server: server, Account: t.account}
	return ts.Gateway.Ask(ctx, cause, method, params, sink)
}

// legacyStatusChanged implements [Bridge.LegacyTaskStatusChanged].
func (ts *tasks) legacyStatusChanged(server, process string, params json.RawMessage) {
	state, _ := wire.ParseTask(params)
	t, ok := ts.notified(server, process, state.ID)
	if !ok {
		return
	}
	ts.recordEnd(server, "notifications/tasks/status", params, t)
	l, ep := ts.listeners.reach(server, t.session)
	if l == nil {
		return
	}
	if ep.server == "" {
		params = rewriteTaskIDs(params, publicTaskID(server))
	}
	l.notify("task "+server+" "+state.ID, "notifications/tasks/status", params)
}

// recordEnd records a notification about a task if the task has ended and the client does not
// know yet. A client that listens may never ask for the state again. Other states are not recorded,
// because a server can send any number of them.
func (ts *tasks) recordEnd(server, method string, params json.RawMessage, t task) {
	state, _ := wire.ParseTask(params)
	ended := &core.Task{Status: state.Status, TTL: state.TTL, HasResult: !state.Result.Empty() || !state.Error.Empty()}
	if !wire.TaskEnded(state.Status) || !ts.table.observe(taskKey{server, state.ID}, t.owner, ended, ts.Now()) {
		return
	}
	ts.Gateway.RecordNotification(&core.Call{
		Client: t.client, Session: t.session, Workspace: t.workspace, Account: t.account, Era: t.owner.era,
		Server: server, Method: method, Name: t.tool, PublicName: t.public, Params: params, Attempts: 1,
		Task: &core.Task{Call: t.call, ID: state.ID, TTL: -1},
	})
}

// At an endpoint of several servers, the id of a task begins with the id of its server, because the
// ids of two servers may be equal. At the endpoint of one server, ids are unchanged.

// taskSeparator is between the id of a server, which cannot contain it, and that of a task.
const taskSeparator = "__"

// ownTaskID returns the server of a task and the id that the server knows.
func ownTaskID(ep endpoint, public string) (server, id string) {
	if ep.server != "" {
		return ep.server, public
	}
	server, id, _ = strings.Cut(public, taskSeparator)
	return server, id
}

func publicTaskID(server string) func(string) string {
	return func(own string) string { return server + taskSeparator + own }
}

// withPublicTaskIDs returns the result of a server with the ids of tasks as the client knows them.
// Everything else is unchanged, byte for byte.
func withPublicTaskIDs(rq *request, server string, result []byte) []byte {
	if !wire.MentionsTask(result) {
		return result
	}
	if !isTaskMethod(rq.method) {
		if _, isNew, _ := wire.ParseNewTask(rq.era, rq.params, result); !isNew {
			r := uriRewriter{raw: result}
			r.member(core.Span{End: len(result)}, "_meta", r.relatedTask(publicTaskID(server)))
			return r.apply()
		}
	}
	return rewriteTaskIDs(result, publicTaskID(server))
}

// rewriteTaskIDs replaces the ids in a task, a list of tasks, the params of a notification about a
// task, and the _meta of a message that belongs to a task.
func rewriteTaskIDs(raw []byte, replace func(string) string) []byte {
	if !wire.MentionsTask(raw) {
		return raw
	}
	r := uriRewriter{raw: raw}
	id := r.taskID(replace)
	taskID := func(s core.Span) { r.member(s, "taskId", id) }
	r.members(core.Span{End: len(raw)}, func(name string, value core.Span) {
		switch name {
		case "taskId":
			id(value)
		case "task":
			taskID(value)
		case "tasks":
			r.elements(value, taskID)
		case "_meta":
			r.relatedTask(replace)(value)
		}
	})
	return wire.Splice(nil, raw, r.edits...)
}

func (r *uriRewriter) taskID(replace func(string) string) func(core.Span) {
	return func(s core.Span) {
		if own, ok := wire.Unquote(wire.Bytes(r.raw, s)); ok {
			r.edits = append(r.edits, wire.Edit{Span: s, With: wire.AppendString(nil, replace(own))})
		}
	}
}

// relatedTask returns a function that replaces the id of the task that the _meta at a span names.
func (r *uriRewriter) relatedTask(replace func(string) string) func(core.Span) {
	return func(meta core.Span) {
		r.member(meta, wire.MetaRelatedTask, func(task core.Span) { r.member(task, "taskId", r.taskID(replace)) })
	}
}
