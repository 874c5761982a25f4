package bridge

import (
	"context"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// answer gives the result of one of our methods, or why there is none. The hot path
// and go-sdk's middleware both end here, so that they cannot differ.
// answered is a result in two parts, so that what we add at the end of a server's
// result costs no copy of it. tail may be empty.
type answered struct{ head, tail []byte }

func (b *Bridge) answer(ctx context.Context, rq *request, sink *callSink) (answered, *failure) {
	if kind, ok := listKinds[rq.method]; ok {
		return b.list(ctx, rq, kind)
	}
	if rq.at.mode != "" {
		var f *failure
		if rq, f = unfold(rq); f != nil {
			return answered{}, f
		}
		sink.rq = rq
	}
	if rq.era == core.Modern && !rq.spans.RequestState.Empty() {
		if reply, err, is := b.resume(ctx, rq, sink); is {
			public, _ := wire.Unquote(wire.Bytes(rq.params, rq.spans.Name))
			return b.finish(rq, sink.server, public, reply, err)
		}
	}
	call, f := b.resolve(ctx, rq)
	if f != nil {
		return answered{}, f
	}
	reply, err := b.call(ctx, rq, call, sink)
	switch {
	case err != nil:
	case rq.era == core.Legacy:
		reply, err = b.fulfil(ctx, call, sink, reply)
	default:
		reply, err = b.instead(ctx, rq, call, sink, reply)
	}
	return b.finish(rq, call.Server, call.PublicName, reply, err)
}

// finish makes of a call's end what its client gets.
func (b *Bridge) finish(rq *request, server, public string, reply core.Reply, err error) (answered, *failure) {
	if err != nil {
		result, f := failedHere(rq.method, b.label(server), public, rq.era, err)
		if f != nil {
			return answered{}, f
		}
		reply.Result = result
	} else if len(reply.Error) > 0 {
		return answered{}, failedUpstream(reply.Error, rq.era)
	}
	if rq.era == core.Modern {
		return b.modernize(rq.method, reply.Result), nil
	}
	return answered{head: reply.Result}, nil
}

// label is what a person calls a server.
func (b *Bridge) label(server string) string {
	if v, ok := b.Registry.Server(server); ok {
		if offers := v.Offers(); len(offers) > 0 && offers[0].Label != "" {
			return offers[0].Label
		}
	}
	return server
}

func (b *Bridge) list(ctx context.Context, rq *request, kind core.Kind) (answered, *failure) {
	if cursor := wire.Bytes(rq.params, rq.spans.Cursor); len(cursor) > 0 && string(cursor) != "null" && string(cursor) != `""` {
		return answered{}, failed(codeInvalidParams, "the cursor is unknown: lists are sent whole")
	}
	b.Lister.WaitListed(ctx, rq.at.server)
	if rq.era == core.Modern {
		b.introduced(rq)
	}
	view := b.view(rq.at, rq.client.Token)
	result := b.listed(rq.at, view, kind)
	if kind == core.Tools {
		b.present.note(rq.client, rq.at, shown(rq.at, view), b.Now())
	}
	if rq.era == core.Modern {
		return answered{result[:len(result)-1], b.suffix}, nil
	}
	return answered{head: result}, nil
}

// listed is the whole result of a list request.
func (b *Bridge) listed(at endpoint, view *registry.View, kind core.Kind) []byte {
	if kind == core.Tools && at.server == "" {
		return b.aggregate(at, view)
	}
	return view.ListResult(kind)
}

// resolve makes the call that the gateway gets: where the public name leads, and
// params with the server's own name in its place and every other byte as it was. A
// name that leads nowhere makes a call without a server, which the gateway refuses
// and records.
func (b *Bridge) resolve(ctx context.Context, rq *request) (*core.Call, *failure) {
	now := b.Now()
	call := &core.Call{
		At: now.UTC(), Began: now, Client: rq.client, Shim: rq.shim, Era: rq.era, Method: rq.method,
		TraceID: rq.trace, SpanID: rq.span, Protocol: rq.protocol(), Capabilities: rq.capabilities, LogLevel: rq.level,
		Params: rq.params, Arguments: rq.spans.Arguments, Meta: rq.spans.Meta, ProgressToken: rq.spans.ProgressToken,
		Repaired: rq.repaired, Profile: rq.at.scope,
	}
	if rq.session != nil {
		call.Session = rq.session.id
	}
	said := rq.spans
	call.Introduced = rq.era == core.Modern && !said.ProtocolVersion.Empty() && !said.ClientInfo.Empty() && !said.ClientCapabilities.Empty()
	span, find, f := sought(rq)
	if f != nil {
		return nil, f
	}
	public, ok := wire.Unquote(wire.Bytes(rq.params, span))
	if !ok || public == "" {
		return nil, failed(codeInvalidParams, "the params name nothing to "+verb(rq.method))
	}
	call.PublicName, call.Name = public, public
	if rq.at.mode != "" {
		if call.Local = b.standing(rq); call.Local != nil {
			call.Server, call.BytesIn = ownServer, len(call.Params)
			return call, nil
		}
	}
	target, ok := find(b.view(rq.at, rq.client.Token), public)
	if !ok && rq.at.server == "" && rq.method == "tools/call" {
		if own := b.ownView(rq.at); own != nil {
			target, ok = own.Lookup(core.Tools, public)
		}
	}
	if !ok {
		// It may belong to a server that is starting.
		b.Lister.WaitListed(ctx, rq.at.server)
		view := b.view(rq.at, rq.client.Token)
		if target, ok = find(view, public); !ok {
			if held, known := view.Withheld(public); known && rq.method == "tools/call" {
				call.Server, call.Name = held.Server, held.Name // refused by policy, which says why
			}
			call.BytesIn = len(call.Params)
			return call, nil
		}
	}
	call.Server, call.Name = target.Server, target.Name
	if target.Name != public {
		with := wire.AppendString(nil, target.Name)
		call.Params = wire.Splice(make([]byte, 0, len(rq.params)+len(with)), rq.params, wire.Edit{Span: span, With: with})
		grown := len(with) - (span.End - span.Start)
		call.Arguments = shift(call.Arguments, span, grown)
		call.Meta = shift(call.Meta, span, grown)
		call.ProgressToken = shift(call.ProgressToken, span, grown)
	}
	call.BytesIn = len(call.Params)
	return call, nil
}

// sought is where a request names what it wants, and how a view finds that.
func sought(rq *request) (core.Span, func(*registry.View, string) (registry.Target, bool), *failure) {
	switch rq.method {
	case "tools/call":
		return rq.spans.Name, tool, nil
	case "prompts/get":
		return rq.spans.Name, prompt, nil
	case "resources/read":
		return rq.spans.URI, resource, nil
	}
	return reference(rq)
}

// sees reports whether the client of a request sees at this moment what it names.
func (b *Bridge) sees(rq *request) bool {
	span, find, f := sought(rq)
	if f != nil {
		return false
	}
	public, _ := wire.Unquote(wire.Bytes(rq.params, span))
	_, ok := find(b.view(rq.at, rq.client.Token), public)
	if own := b.ownView(rq.at); !ok && own != nil && rq.at.server == "" && rq.method == "tools/call" {
		_, ok = own.Lookup(core.Tools, public)
	}
	return ok
}

func tool(v *registry.View, name string) (registry.Target, bool) { return v.Lookup(core.Tools, name) }
func prompt(v *registry.View, name string) (registry.Target, bool) {
	return v.Lookup(core.Prompts, name)
}
func resource(v *registry.View, uri string) (registry.Target, bool) {
	return v.Resource(uri)
}

func templateOrResource(v *registry.View, uri string) (registry.Target, bool) {
	if t, ok := v.Template(uri); ok {
		return t, true
	}
	return v.Resource(uri)
}

// reference finds the name inside the ref of a completion request.
func reference(rq *request) (core.Span, func(*registry.View, string) (registry.Target, bool), *failure) {
	ref := wire.Bytes(rq.params, rq.spans.Ref)
	if len(ref) == 0 || ref[0] != '{' {
		return core.Span{}, nil, failed(codeInvalidParams, "the params hold no ref")
	}
	var kind, name, uri core.Span
	err := wire.Members(ref, func(m wire.Member) error {
		switch string(m.Name) {
		case "type":
			kind = m.Value
		case "name":
			name = m.Value
		case "uri":
			uri = m.Value
		}
		return nil
	})
	if err != nil {
		return core.Span{}, nil, failed(codeInvalidParams, "the ref cannot be read")
	}
	at := rq.spans.Ref.Start
	switch string(wire.Bytes(ref, kind)) {
	case `"ref/prompt"`:
		return core.Span{Start: at + name.Start, End: at + name.End}, prompt, nil
	case `"ref/resource"`:
		return core.Span{Start: at + uri.Start, End: at + uri.End}, templateOrResource, nil
	}
	return core.Span{}, nil, failed(codeInvalidParams, "the ref is of an unknown type")
}

func verb(method string) string {
	switch method {
	case "tools/call":
		return "call"
	case "resources/read":
		return "read"
	case "prompts/get":
		return "get"
	}
	return "complete"
}

// shift moves a span behind an edit that made the text longer by grown bytes.
func shift(s, edited core.Span, grown int) core.Span {
	if s.Empty() || s.Start < edited.End {
		return s
	}
	return core.Span{Start: s.Start + grown, End: s.End + grown}
}

// serverInfo is how we name ourselves where no server of its own speaks.
func serverInfo(version string) []byte {
	if version == "" {
		version = "dev"
	}
	info, _ := json.Marshal(struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	}{"drawbridge", "Drawbridge", version})
	return info
}
