package bridge

import (
	"bytes"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// withPublicURIs returns a server's reply with the URIs of resources as the client knows them: in
// resource links, embedded resources, contents and references to MCP Apps. The URIs of most
// resources, and everything else, stay unchanged, byte for byte. structuredContent and text are data
// of the server, so URIs in them are not changed.
func withPublicURIs(view *registry.View, method, server string, reply core.Reply) core.Reply {
	visit := (*uriRewriter).result
	if method == "tasks/get" {
		visit = (*uriRewriter).task
	}
	reply.Result = rewriteURIs(view, server, reply.Result, visit)
	reply.Error = rewriteURIs(view, server, reply.Error, (*uriRewriter).rpcError)
	return reply
}

// withPublicURI returns the params of notifications/resources/updated with another URI.
func withPublicURI(params []byte, public string) []byte {
	spans, err := wire.ScanParams(params)
	if err != nil || spans.URI.Empty() {
		return params
	}
	return wire.Splice(nil, params, wire.Edit{Span: spans.URI, With: wire.AppendString(nil, public)})
}

// publicQuestion returns the params of a server's request to a legacy client, with the URIs that the
// client knows.
func (b *Bridge) publicQuestion(rq *request, server string, params []byte) []byte {
	if rq.endpoint.server != "" {
		return params
	}
	return rewriteURIs(b.view(rq.endpoint, rq.client.Token), server, params, (*uriRewriter).question)
}

// ownAnswer returns the answer of a client to a question, with the URIs that the server knows.
func (b *Bridge) ownAnswer(rq *request, server string, answer []byte) []byte {
	if rq.endpoint.server != "" || len(answer) == 0 {
		return answer
	}
	r := uriRewriter{view: b.view(rq.endpoint, rq.client.Token), server: server, raw: answer, toOwn: true}
	r.answer(core.Span{End: len(answer)})
	return r.apply()
}

// setOwnAnswers replaces the URIs in the inputResponses of a modern call by those that its server knows.
func (b *Bridge) setOwnAnswers(rq *request, call *core.Call) {
	if rq.endpoint.server != "" || rq.spans.InputResponses.Empty() {
		return
	}
	spans, err := wire.ScanParams(call.Params)
	if err != nil {
		return
	}
	r := uriRewriter{view: b.view(rq.endpoint, rq.client.Token), server: call.Server, raw: call.Params, toOwn: true}
	r.members(spans.InputResponses, func(_ string, answer core.Span) { r.answer(answer) })
	if len(r.edits) == 0 {
		return
	}
	call.Params = r.apply()
	spans, _ = wire.ScanParams(call.Params)
	call.Arguments, call.Meta, call.ProgressToken = spans.Arguments, spans.Meta, spans.ProgressToken
	call.BytesIn = len(call.Params)
}

var uriKey, appURI = []byte(`"uri"`), []byte(`"ui:`)

func rewriteURIs(view *registry.View, server string, raw []byte, visit func(*uriRewriter, core.Span)) []byte {
	if !bytes.Contains(raw, uriKey) && !bytes.Contains(raw, appURI) {
		return raw
	}
	r := uriRewriter{view: view, server: server, raw: raw}
	visit(&r, core.Span{End: len(raw)})
	return r.apply()
}

func (r *uriRewriter) apply() []byte {
	if len(r.edits) == 0 {
		return r.raw
	}
	raw := r.raw
	return wire.Splice(make([]byte, 0, len(raw)+64*len(r.edits)), raw, r.edits...)
}

// uriRewriter collects the edits that turn the URIs of one server into public ones. Its methods
// ignore values of an unexpected type.
type uriRewriter struct {
	view   *registry.View
	server string
	raw    []byte
	toOwn  bool // the public URIs are turned into those of the server
	edits  []wire.Edit
}

func (r *uriRewriter) result(s core.Span) {
	r.members(s, func(name string, value core.Span) {
		switch name {
		case "content": // of a tool
			r.elements(value, r.contentBlock)
		case "contents": // of a resource
			r.elements(value, r.resource)
		case "messages": // of a prompt
			r.messages(value)
		case "inputRequests": // of a call that needs input
			r.questions(value)
		case "_meta":
			for _, ref := range registry.AppReferences(wire.Bytes(r.raw, value)) {
				r.uri(core.Span{Start: value.Start + ref.Start, End: value.Start + ref.End})
			}
		}
	})
}

// task handles a task, which contains the result of its call when it has ended.
func (r *uriRewriter) task(s core.Span) {
	r.member(s, "result", r.result)
	r.member(s, "error", r.rpcError)
	r.member(s, "inputRequests", r.questions)
}

func (r *uriRewriter) questions(s core.Span) {
	r.members(s, func(_ string, request core.Span) { r.member(request, "params", r.question) })
}

// answer handles the answer of a client to a question. Only those to sampling, which have a role, have
// content blocks: the content of the others has the members that the server asked for.
func (r *uriRewriter) answer(s core.Span) {
	r.member(s, "role", func(core.Span) { r.member(s, "content", r.contentBlocks) })
}

// question handles the params of a request to the client. Those of sampling have messages.
func (r *uriRewriter) question(s core.Span) { r.member(s, "messages", r.messages) }

func (r *uriRewriter) messages(s core.Span) {
	r.elements(s, func(message core.Span) { r.member(message, "content", r.contentBlocks) })
}

// contentBlocks handles one content block or a list of them.
func (r *uriRewriter) contentBlocks(s core.Span) {
	if r.raw[s.Start] == '[' {
		r.elements(s, r.contentBlock)
	} else {
		r.contentBlock(s)
	}
}

// rpcError handles the error of a resource that was not found.
func (r *uriRewriter) rpcError(s core.Span) {
	r.member(s, "data", r.resource)
}

func (r *uriRewriter) contentBlock(s core.Span) {
	r.member(s, "type", func(kind core.Span) {
		switch string(wire.Bytes(r.raw, kind)) {
		case `"resource_link"`:
			r.resource(s)
		case `"resource"`:
			r.member(s, "resource", r.resource)
		case `"tool_result"`: // of sampling
			r.member(s, "content", r.contentBlocks)
		}
	})
}

func (r *uriRewriter) resource(s core.Span) { r.member(s, "uri", r.uri) }

func (r *uriRewriter) uri(s core.Span) {
	own, ok := wire.Unquote(wire.Bytes(r.raw, s))
	if !ok {
		return
	}
	if with := r.replacement(own); with != own {
		r.edits = append(r.edits, wire.Edit{Span: s, With: wire.AppendString(nil, with)})
	}
}

func (r *uriRewriter) replacement(uri string) string {
	if !r.toOwn {
		return r.view.PublicURI(r.server, uri)
	}
	if t, ok := r.view.Resource(uri); ok && t.Server == r.server {
		return t.Name
	}
	return uri
}

func (r *uriRewriter) member(s core.Span, wanted string, visit func(core.Span)) {
	r.members(s, func(name string, value core.Span) {
		if name == wanted {
			visit(value)
		}
	})
}

func (r *uriRewriter) members(s core.Span, visit func(name string, value core.Span)) {
	_ = wire.Members(wire.Bytes(r.raw, s), func(m wire.Member) error {
		visit(string(m.Name), core.Span{Start: s.Start + m.Value.Start, End: s.Start + m.Value.End})
		return nil
	})
}

func (r *uriRewriter) elements(s core.Span, visit func(core.Span)) {
	_ = wire.Elements(wire.Bytes(r.raw, s), func(e core.Span) error {
		visit(core.Span{Start: s.Start + e.Start, End: s.Start + e.End})
		return nil
	})
}
