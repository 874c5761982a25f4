package bridge

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// resolveTarget builds the call for the gateway: the server that the public name leads to, and the
// params with the server's own name and all other bytes unchanged. An unknown name gives a call
// without a server, which the gateway rejects and records.
func (cs *calls) resolveTarget(ctx context.Context, rq *request) (*core.Call, *rpcError) {
	call := cs.newCall(rq)
	span, find, rpcErr := requestedName(rq)
	if rpcErr != nil {
		return nil, rpcErr
	}
	public, ok := wire.Unquote(wire.Bytes(rq.params, span))
	if !ok || public == "" {
		return nil, newError(codeInvalidParams, "the params do not specify what to "+methodVerb(rq.method))
	}
	call.PublicName, call.Name = public, public
	if rq.endpoint.hasOwnTools() {
		if call.Local = cs.views.localTool(rq); call.Local != nil {
			call.Server, call.BytesIn = builtinServer, len(call.Params)
			return call, nil
		}
	}
	target, ok := cs.views.lookup(rq, rq.endpoint, find, public)
	if !ok {
		// The tool may belong to a server that is starting.
		cs.Lister.WaitListed(ctx, rq.endpoint.server)
		view := cs.views.of(rq.endpoint, rq.client.Token)
		if target, ok = find(view, public); !ok {
			kind := map[string]core.Kind{"tools/call": core.Tools, "prompts/get": core.Prompts}[rq.method]
			if held, known := view.Withheld(kind, public); known {
				call.Server, call.Name = held.Server, held.Name // policy rejects it with the reason
			} else if _, exists := find(cs.views.of(endpoint{server: rq.endpoint.server}, rq.client.Token), public); exists {
				call.HiddenBy = rq.endpoint.scope
			}
			if kind != "" && call.Server == "" { // also if it is hidden, which must not show
				call.Similar = view.Similar(kind, public)
			}
			call.BytesIn = len(call.Params)
			return call, nil
		}
	}
	call.Server, call.Name = target.Server, target.Name
	if rq.method == "tools/call" {
		prepareResult(rq, call, target.Raw)
	}
	if target.Name != public {
		replaceParam(call, span, target.Name)
	}
	call.BytesIn = len(call.Params)
	return call, nil
}

// newCall returns the call of a request, without its server and name.
func (cs *calls) newCall(rq *request) *core.Call {
	now, spans := cs.Now(), rq.spans
	call := &core.Call{
		At: now.UTC(), Began: now, Client: rq.client, Shim: rq.shim, Era: rq.era, Method: rq.method,
		TraceID: rq.traceID, SpanID: rq.spanID, Protocol: rq.protocol(), Capabilities: rq.capabilities, LogLevel: rq.logLevel,
		Params: rq.params, Arguments: spans.Arguments, Meta: spans.Meta, ProgressToken: spans.ProgressToken,
		Repaired: rq.repaired, Profile: rq.endpoint.scope,
	}
	if rq.session != nil {
		call.Session = rq.session.id
	} else if rq.era == core.Modern {
		call.Session = cs.modern.sessionID(rq, now)
	}
	call.HasModernMeta = rq.era == core.Modern && !spans.ProtocolVersion.Empty() && !spans.ClientInfo.Empty() && !spans.ClientCapabilities.Empty()
	return call
}

func replaceParam(call *core.Call, span core.Span, text string) {
	with := wire.AppendString(nil, text)
	call.Params = wire.Splice(make([]byte, 0, len(call.Params)+len(with)), call.Params, wire.Edit{Span: span, With: with})
	grown := len(with) - (span.End - span.Start)
	call.Arguments = shiftSpan(call.Arguments, span, grown)
	call.Meta = shiftSpan(call.Meta, span, grown)
	call.ProgressToken = shiftSpan(call.ProgressToken, span, grown)
}

// requestedName returns where the params hold the requested name, and the lookup for it.
func requestedName(rq *request) (core.Span, func(*registry.View, string) (registry.Target, bool), *rpcError) {
	switch rq.method {
	case "tools/call":
		return rq.spans.Name, lookupTool, nil
	case "prompts/get":
		return rq.spans.Name, lookupPrompt, nil
	case "resources/read":
		return rq.spans.URI, lookupResource, nil
	}
	return completionReference(rq)
}

func (vs *views) lookup(rq *request, ep endpoint, find func(*registry.View, string) (registry.Target, bool), public string) (target registry.Target, ok bool) {
	view := vs.of(ep, rq.client.Token)
	if target, ok = find(view, public); ok || rq.method != "tools/call" {
		return target, ok
	}
	if builtin := vs.builtinView(ep); builtin != nil {
		target, ok = builtin.Lookup(core.Tools, public)
	}
	if !ok && hasExtension(rq.capabilities, appsExtension) {
		target, ok = view.AppTool(public)
	}
	return target, ok
}

// canSee reports whether the client currently sees what its request names.
func (vs *views) canSee(rq *request) bool {
	span, find, rpcErr := requestedName(rq)
	if rpcErr != nil {
		return false
	}
	public, _ := wire.Unquote(wire.Bytes(rq.params, span))
	_, ok := vs.lookup(rq, rq.endpoint, find, public)
	return ok
}

// stillAdmitted returns why a request of a client, which has become the call, is not admitted any
// more: its token, its profile or what the name leads to has changed.
func (vs *views) stillAdmitted(rq *request, call *core.Call) error {
	if vs.Credential != nil {
		if now, ok := vs.Credential(rq.client.Token); !ok || now != rq.credential {
			return core.Errorf(core.CodeRejected, "the access token of the client was changed or revoked while the call waited")
		}
	}
	ep, refusal := vs.authorize(rq.endpoint.unscoped(), requestOrigin{token: rq.client.Token, shim: rq.shim, workspace: rq.workspace})
	if refusal != "" {
		return core.Errorf(core.CodeRejected, "%s", refusal)
	}
	var target registry.Target
	var ok bool
	switch {
	case call.Local != nil:
		return nil
	case callMethods[rq.method]:
		span, find, _ := requestedName(rq) // has succeeded before
		public, _ := wire.Unquote(wire.Bytes(rq.params, span))
		target, ok = vs.lookup(rq, ep, find, public)
		ok = ok && target.Server == call.Server && target.Name == call.Name
	case isTaskMethod(rq.method) && call.Name != "" && rq.method != "tasks/cancel":
		ep.server = call.Server // a task can be used at other endpoints than the one that created it
		_, ok = vs.of(ep, rq.client.Token).LookupOwnName(core.Tools, call.Name)
	default:
		ok = hasServer(vs.of(ep, rq.client.Token).Offers(), call.Server)
	}
	if !ok {
		if view, known := vs.Registry.Server(call.Server); known {
			if _, held := view.Withheld(core.Tools, call.Name); held {
				return nil // policy rejects it with the reason
			}
		}
		return errNoLongerVisible
	}
	return nil
}

// StillAdmitted implements core.ClientAdmission.
func (c *callMessageHandler) StillAdmitted(call *core.Call) error {
	return c.calls.views.stillAdmitted(c.rq, call)
}

// StillAdmitted implements core.ClientAdmission.
func (sc *suspendedCall) StillAdmitted(call *core.Call) error {
	return sc.calls.views.stillAdmitted(sc.rq, call)
}

func lookupTool(v *registry.View, name string) (registry.Target, bool) {
	return v.Lookup(core.Tools, name)
}
func lookupPrompt(v *registry.View, name string) (registry.Target, bool) {
	return v.Lookup(core.Prompts, name)
}
func lookupResource(v *registry.View, uri string) (registry.Target, bool) {
	return v.Resource(uri)
}

func lookupTemplateOrResource(v *registry.View, uri string) (registry.Target, bool) {
	if t, ok := v.Template(uri); ok {
		return t, true
	}
	return v.Resource(uri)
}

// completionReference finds the name inside the ref of a completion request.
func completionReference(rq *request) (core.Span, func(*registry.View, string) (registry.Target, bool), *rpcError) {
	ref := wire.Bytes(rq.params, rq.spans.Ref)
	if len(ref) == 0 || ref[0] != '{' {
		return core.Span{}, nil, newError(codeInvalidParams, "the params have no ref")
	}
	found, err := wire.Pick(ref, "type", "name", "uri")
	if err != nil {
		return core.Span{}, nil, newError(codeInvalidParams, "cannot parse the ref")
	}
	kind, name, uri := found[0], found[1], found[2]
	at := rq.spans.Ref.Start
	switch string(wire.Bytes(ref, kind)) {
	case `"ref/prompt"`:
		return core.Span{Start: at + name.Start, End: at + name.End}, lookupPrompt, nil
	case `"ref/resource"`:
		return core.Span{Start: at + uri.Start, End: at + uri.End}, lookupTemplateOrResource, nil
	}
	return core.Span{}, nil, newError(codeInvalidParams, "unknown ref type")
}

func methodVerb(method string) string {
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

// shiftSpan adjusts a span for an edit before it that made the text longer by grown bytes.
func shiftSpan(s, edited core.Span, grown int) core.Span {
	if s.Empty() || s.Start < edited.End {
		return s
	}
	return core.Span{Start: s.Start + grown, End: s.End + grown}
}
