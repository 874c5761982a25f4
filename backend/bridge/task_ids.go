package bridge

import (
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

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

// namesTask reports whether the headers of a modern request match its method and the task in its
// params.
func (x *exchange) namesTask() bool {
	header := x.request.Header
	if headerValue(header, methodHeader) != x.env.Method {
		return false
	}
	id := wire.NameHeaderValue(x.env.Method, x.rawParams(), &x.params)
	return id == "" || headerValue(header, nameHeader) == id
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

// taskID returns a function that replaces the id at a span.
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
