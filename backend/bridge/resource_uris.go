package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"

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
func (vs *views) publicQuestion(rq *request, server string, params []byte) []byte {
	if rq.endpoint.server != "" {
		return params
	}
	return rewriteURIs(vs.of(rq.endpoint, rq.client.Token), server, params, (*uriRewriter).question)
}

// ownAnswer returns the answer of a client to a question, with the URIs that the server knows.
func (vs *views) ownAnswer(rq *request, server string, answer []byte) []byte {
	if rq.endpoint.server != "" || len(answer) == 0 {
		return answer
	}
	r := uriRewriter{view: vs.of(rq.endpoint, rq.client.Token), server: server, raw: answer, toOwn: true}
	r.answer(core.Span{End: len(answer)})
	return r.apply()
}

// setOwnAnswers replaces the URIs in the inputResponses of a modern call by those that its server knows.
func (vs *views) setOwnAnswers(rq *request, call *core.Call) {
	if rq.endpoint.server != "" || rq.spans.InputResponses.Empty() {
		return
	}
	spans, err := wire.ScanParams(call.Params)
	if err != nil {
		return
	}
	r := uriRewriter{view: vs.of(rq.endpoint, rq.client.Token), server: call.Server, raw: call.Params, toOwn: true}
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

// subscriptions tracks which clients subscribed to which resource, so that a server gets one
// subscribe for the first client and one unsubscribe after the last.
type subscriptions struct {
	*Options
	views    *views
	lifetime context.Context // of the bridge

	mu          sync.Mutex
	subscribers map[resourceKey]map[*listener]subscriber
}

// resourceKey is a resource: its server, the server's own URI, and the process or connection of the
// server that serves the client, as Options.ProcessOf identifies it.
type resourceKey struct{ server, uri, process string }

type subscriber struct {
	uri  string     // the one that the client uses
	call *core.Call // describes the client, and the account that it used when it subscribed
}

type clientSubscription struct {
	own string // the server's own URI
	subscriber
}

// subscribersOf returns the subscribers of a resource, and of the resources that contain it. A
// client that has several such subscriptions gets the nearest one.
func (s *subscriptions) subscribersOf(updated resourceKey) map[*listener]clientSubscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[*listener]clientSubscription{}
	for key, all := range s.subscribers {
		if key.server != updated.server || key.process != updated.process || !containsResource(key.uri, updated.uri) {
			continue
		}
		for l, one := range all {
			if len(key.uri) > len(found[l].own) {
				found[l] = clientSubscription{key.uri, one}
			}
		}
	}
	return found
}

// containsResource reports whether a resource is parent or a sub-resource of it, by their URIs.
func containsResource(parent, uri string) bool {
	rest, ok := strings.CutPrefix(uri, parent)
	return ok && (rest == "" || strings.HasSuffix(parent, "/") || strings.ContainsRune("/?#", rune(rest[0])))
}

// find returns the resource that l subscribed to under a URI. The URI may resolve to another
// server by now.
func (s *subscriptions) find(uri string, l *listener) (resourceKey, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, all := range s.subscribers {
		if used, ok := all[l]; ok && used.uri == uri {
			return key, true
		}
	}
	return resourceKey{}, false
}

// add adds a subscriber and reports whether it is the first.
func (s *subscriptions) add(key resourceKey, l *listener, one subscriber) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subscribers[key] == nil {
		s.subscribers[key] = map[*listener]subscriber{}
		first = true
	}
	s.subscribers[key][l] = one
	return first
}

// remove removes a subscriber, and returns it if it was the last one.
func (s *subscriptions) remove(key resourceKey, l *listener) (last subscriber, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.subscribers[key][l]
	if !ok {
		return one, false
	}
	delete(s.subscribers[key], l)
	if len(s.subscribers[key]) > 0 {
		return one, false
	}
	delete(s.subscribers, key)
	return one, true
}

// removeListener removes l from all resources, and returns those of which it was the last
// subscriber.
func (s *subscriptions) removeListener(l *listener) map[resourceKey]subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := map[resourceKey]subscriber{}
	for key, all := range s.subscribers {
		one, ok := all[l]
		if !ok {
			continue
		}
		if delete(all, l); len(all) == 0 {
			delete(s.subscribers, key)
			free[key] = one
		}
	}
	return free
}

func (s *subscriptions) serveSubscribe(ctx context.Context, rq *request, _ *callMessageHandler) (splitResult, *rpcError) {
	uri, ok := wire.Unquote(wire.Bytes(rq.params, rq.spans.URI))
	if !ok {
		return splitResult{}, rq.invalidParams()
	}
	return splitResult{head: []byte("{}")}, s.subscribe(ctx, rq.session.listener, uri)
}

func (s *subscriptions) subscribe(ctx context.Context, l *listener, uri string) *rpcError {
	target, ok := s.resolve(l, uri)
	if !ok {
		return newError(codeInvalidParams, "resource not found")
	}
	call, ok := s.call(l, target.Server)
	if !ok {
		return newError(codeInvalidParams, "resource not found")
	}
	key := resourceKey{server: target.Server, uri: target.Name}
	if s.ProcessOf != nil {
		var err error
		if key.process, err = s.ProcessOf(call); err != nil {
			_, rpcErr := localError("resources/subscribe", "", key.uri, core.Legacy, err)
			return rpcErr
		}
	}
	one := subscriber{uri, call}
	if !s.add(key, l, one) {
		return nil
	}
	rpcErr := s.send(ctx, "resources/subscribe", key, one)
	if rpcErr != nil {
		s.remove(key, l)
	}
	return rpcErr
}

// subscribeToAll subscribes a modern client to resources, and returns those that it is subscribed
// to. The acknowledgement of subscriptions/listen omits the others.
func (s *subscriptions) subscribeToAll(ctx context.Context, l *listener, uris []string) (accepted []string) {
	for _, uri := range uris {
		if err := s.subscribe(ctx, l, uri); err != nil {
			s.Log.Debug("Skipped a subscription", "uri", uri, "error", string(err.object))
			continue
		}
		accepted = append(accepted, uri)
	}
	return accepted
}

// call returns a call that describes the client of a listener, to a server.
func (s *subscriptions) call(l *listener, server string) (*core.Call, bool) {
	origin := l.currentOrigin()
	ep, refusal := s.views.authorize(l.endpoint, origin)
	call := &core.Call{Client: l.client, Shim: origin.shim, Workspace: origin.workspace, Era: core.Legacy, Server: server, Profile: ep.scope}
	if l.session != nil {
		call.Session = l.session.id
	}
	return call, refusal == ""
}

func (s *subscriptions) serveUnsubscribe(ctx context.Context, rq *request, _ *callMessageHandler) (splitResult, *rpcError) {
	uri, ok := wire.Unquote(wire.Bytes(rq.params, rq.spans.URI))
	if !ok {
		return splitResult{}, rq.invalidParams()
	}
	return splitResult{head: []byte("{}")}, s.unsubscribe(ctx, rq.session.listener, uri)
}

func (s *subscriptions) unsubscribe(ctx context.Context, l *listener, uri string) *rpcError {
	key, ok := s.find(uri, l)
	if !ok {
		return nil
	}
	last, ok := s.remove(key, l)
	if !ok {
		return nil
	}
	// Notify the server even if the client disconnects now.
	return s.send(context.WithoutCancel(ctx), "resources/unsubscribe", key, last)
}

func (s *subscriptions) unsubscribeAll(l *listener) {
	for key, last := range s.removeListener(l) {
		_ = s.send(s.lifetime, "resources/unsubscribe", key, last)
	}
}

// send sends resources/subscribe or resources/unsubscribe to a server. It is recorded
// as a call of the client that caused it. Both methods exist in the legacy era only.
func (s *subscriptions) send(ctx context.Context, method string, key resourceKey, of subscriber) *rpcError {
	params := append(wire.AppendString([]byte(`{"uri":`), key.uri), '}')
	now := s.Now()
	call := &core.Call{
		At: now.UTC(), Began: now, Era: core.Legacy, Server: key.server, Method: method,
		Client: of.call.Client, Session: of.call.Session, Shim: of.call.Shim, Workspace: of.call.Workspace, Profile: of.call.Profile, Account: of.call.Account,
		Name: key.uri, PublicName: key.uri, Params: params, BytesIn: len(params),
	}
	reply, err := s.Gateway.Call(ctx, call, discardMessageHandler{})
	if err != nil {
		_, rpcErr := localError(method, "", key.uri, core.Legacy, err)
		return rpcErr
	}
	if len(reply.Error) > 0 {
		return upstreamError(reply.Error, core.Legacy)
	}
	return nil
}

// updated notifies the subscribers of a resource; see [Bridge.ResourceUpdated].
func (s *subscriptions) updated(server, process string, params json.RawMessage) {
	var p struct{ URI string }
	if json.Unmarshal(params, &p) != nil {
		return
	}
	for l, one := range s.subscribersOf(resourceKey{server, p.URI, process}) {
		view, ok := s.views.ofListener(l)
		if !ok || !leadsTo(view, one.uri, server, one.own) {
			continue
		}
		public := one.uri
		if one.own != p.URI {
			if public = view.PublicURI(server, p.URI); !leadsTo(view, public, server, p.URI) {
				continue
			}
		}
		update := []byte(params)
		if public != p.URI {
			update = withPublicURI(params, public)
		}
		l.notify(public, "notifications/resources/updated", update)
	}
}

func leadsTo(view *registry.View, uri, server, own string) bool {
	target, ok := view.Resource(uri)
	return ok && target.Server == server && target.Name == own
}

// resolve returns the server and the URI that a URI currently resolves to for a listener.
func (s *subscriptions) resolve(l *listener, uri string) (registry.Target, bool) {
	view, ok := s.views.ofListener(l)
	if !ok {
		return registry.Target{}, false
	}
	return view.Resource(uri)
}

// ofListener returns what a listener currently sees. ok is false if it may not see anything.
func (vs *views) ofListener(l *listener) (view *registry.View, ok bool) {
	ep, refusal := vs.authorize(l.endpoint, l.currentOrigin())
	if refusal != "" {
		return nil, false
	}
	return vs.of(ep, ""), true
}
