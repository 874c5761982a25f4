package bridge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/revision"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

type request struct {
	requestOrigin
	id              []byte // raw
	endpoint        endpoint
	era             core.Era
	session         *session
	client          core.Client
	connection      string // remote address of the HTTP connection
	traceID, spanID string // from the client's traceparent, or ""
	method          string
	params          []byte       // raw object as the client sent it, or nil
	spans           *wire.Params // of params
	capabilities    json.RawMessage
	fromCallTool    bool   // it was unwrapped from a call of call_tool
	storedCallID    *int64 // core.Call.RecordedUnchangedAs of the call, if its result may be truncated
	singleCopy      bool   // whether its result loses a structuredContent that its text repeats
	repaired        bool   // it contained invalid Unicode, which was replaced
	logLevel        string // minimum level of log messages; "" to send none
}

// listMethods are the list methods, whose results are cached.
var listMethods = map[string]core.Kind{
	"tools/list":               core.Tools,
	"prompts/list":             core.Prompts,
	"resources/list":           core.Resources,
	"resources/templates/list": core.Templates,
}

// callMethods are the methods that are forwarded to a server.
var callMethods = map[string]bool{
	"tools/call": true, "prompts/get": true, "resources/read": true, "completion/complete": true,
}

func (b *Bridge) newRequest(x *exchange) *request {
	raw := x.rawParams()
	rq := &request{
		requestOrigin: x.origin, id: x.id(), endpoint: x.endpoint, era: x.era, session: x.session, connection: x.request.RemoteAddr,
		method: x.env.Method, params: raw, spans: &x.params, repaired: x.repaired,
	}
	rq.traceID, rq.spanID = traceParent(headerValue(x.request.Header, "Traceparent"))
	if rq.traceID == "" && !x.params.TraceParent.Empty() {
		parent, _ := wire.Unquote(wire.Bytes(raw, x.params.TraceParent))
		rq.traceID, rq.spanID = traceParent(parent)
	}
	if s := x.session; s != nil {
		rq.client, rq.capabilities, rq.logLevel = s.client, s.capabilities, s.logLevel()
		return rq
	}
	rq.client = b.clients.identify(x.origin, wire.Bytes(raw, x.params.ClientInfo))
	if x.era == core.Modern {
		rq.capabilities = wire.Bytes(raw, rq.spans.ClientCapabilities)
		rq.logLevel, _ = wire.Unquote(wire.Bytes(raw, rq.spans.LogLevel))
	}
	return rq
}

// traceParent parses a W3C traceparent. It returns empty strings if the value is invalid.
func traceParent(parent string) (trace, span string) {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || len(parts[2]) != 16 || strings.Trim(parts[1]+parts[2], "0123456789abcdef") != "" {
		return "", ""
	}
	return parts[1], parts[2]
}

// protocol returns the protocol revision of the client, or "" if it is unknown.
func (rq *request) protocol() string {
	switch {
	case rq.era == core.Modern:
		return core.ModernVersion
	case rq.session != nil:
		return rq.session.version
	}
	return ""
}

var (
	messagePrefix = []byte(`{"jsonrpc":"2.0","id":`)
	resultKey     = []byte(`,"result":`)
	objectClose   = []byte(`}`)
)

// serveRequest answers a request that admit has admitted, on x.response.
func (b *Bridge) serveRequest(x *exchange) {
	defer func() {
		if p := recover(); p != nil {
			b.Log.Error("Panic while handling a request", "method", x.env.Method, "panic", p, "stack", string(debug.Stack()))
			x.refuse(newError(codeInternal, "internal error. See the log for details: drawbridge logs"))
		}
	}()
	m := x.served
	if m == nil {
		x.refuse(newError(codeMethodNotFound, "method not found"))
		return
	}
	parent := x.request.Context() // a modern call ends with its HTTP request
	if x.session != nil {
		parent = x.session.ctx
	}
	callCtx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	if s := x.session; s != nil {
		key := idKey(x.id())
		if !s.beginCall(key, cancel) {
			x.refuse(newRefusal(http.StatusBadRequest, codeInvalidRequest, "a request with this id is still in flight"))
			return
		}
		defer s.endCall(key)
	}
	if m.opensStream {
		if !b.streams.acquire(x.origin.token) {
			x.refuse(newRefusal(http.StatusTooManyRequests, codeRefused, "this client has too many open streams"))
			return
		}
		defer b.streams.release(x.origin.token)
	}
	b.inFlight.add(x.response, cancel)
	defer b.inFlight.remove(x.response)
	rq := b.newRequest(x)
	sink := &callMessageHandler{calls: b.calls, rq: rq, response: x.response}
	if m.forServers {
		if refusal := b.applyFolderProfile(callCtx, x, sink); refusal != "" {
			x.refuse(newRefusal(http.StatusNotFound, codeNotFound, refusal))
			return
		}
		rq.endpoint, rq.workspace = x.endpoint, x.origin.workspace
	}
	result, rpcErr := m.serve(callCtx, rq, sink)
	if rpcErr == nil {
		var release func()
		result, rpcErr, release = b.calls.hold(rq, result)
		defer release()
	}
	if rpcErr != nil {
		x.refuse(rpcErr)
		return
	}
	x.reply(http.StatusOK, messagePrefix, x.id(), resultKey, result.head, result.tail, objectClose)
}

// splitResult is a result in two parts, so that appending to a server's result needs no copy.
// tail may be empty.
type splitResult struct{ head, tail []byte }

// calls turns requests into calls of the gateway, and their replies into results.
type calls struct {
	*Options
	views        *views
	results      modernResults
	tasks        *taskTable
	modern       *modernSessions
	suspended    suspendedCalls
	elicitations elicitationSessions
	resultBudget resultBudget
	lifetime     context.Context // of the bridge
	run          func(func())    // runs a goroutine
	nonce        string          // random prefix of the ids of requests to clients
}

// call serves the methods that are forwarded to a server.
func (cs *calls) call(ctx context.Context, rq *request, sink *callMessageHandler) (splitResult, *rpcError) {
	if rq.endpoint.offers(ToolsSearch) {
		var rpcErr *rpcError
		if rq, rpcErr = unwrapCallTool(rq); rpcErr != nil {
			return splitResult{}, rpcErr
		}
		sink.rq = rq
	}
	if rq.era == core.Modern && string(wire.Bytes(rq.params, rq.spans.RequestState)) == `"`+urlsState+`"` {
		again, err := afterURLs(rq)
		if err != nil {
			return cs.result(rq, "", "", core.Reply{}, err)
		}
		rq, sink.rq = again, again
	}
	if rq.era == core.Modern && !rq.spans.RequestState.Empty() {
		if reply, found, err := cs.resume(ctx, rq, sink); found {
			public, _ := wire.Unquote(wire.Bytes(rq.params, rq.spans.Name))
			if err == nil {
				err = unusableTaskError(rq, sink.server, rq.params, reply.Result)
			}
			if err == nil {
				reply = limitResult(rq, reply)
			}
			return cs.result(rq, sink.server, public, reply, err)
		}
	}
	call, rpcErr := cs.resolveTarget(ctx, rq)
	if rpcErr != nil {
		return splitResult{}, rpcErr
	}
	cs.views.setOwnAnswers(rq, call)
	reply, err := cs.runCall(ctx, rq, call, sink)
	switch {
	case err != nil:
	case rq.era == core.Legacy:
		reply, err = cs.answerInputRequests(ctx, call, sink, reply)
	default:
		reply, err = cs.answerForClient(ctx, rq, call, sink, reply)
	}
	if err == nil {
		err = unusableTaskError(rq, call.Server, call.Params, reply.Result)
	}
	if err == nil {
		cs.rememberTask(rq, call, reply)
		reply = limitResult(rq, reply)
	}
	return cs.result(rq, call.Server, call.PublicName, reply, err)
}

// result turns the reply of a call into the result for the client.
func (cs *calls) result(rq *request, server, public string, reply core.Reply, err error) (splitResult, *rpcError) {
	if err == nil && rq.endpoint.server == "" {
		reply = withPublicURIs(cs.views.of(rq.endpoint, rq.client.Token), rq.method, server, reply)
		reply.Result = withPublicTaskIDs(rq, server, reply.Result)
	}
	if err != nil {
		err = cs.views.withDefinition(rq, public, err)
		result, rpcErr := localError(rq.method, cs.views.displayName(server), public, rq.era, err)
		if rpcErr != nil {
			return splitResult{}, rpcErr
		}
		reply.Result = result
	} else if len(reply.Error) > 0 {
		result, rpcErr := inputForURLs(rq, reply.Error)
		cs.recordElicitations(rq, server, reply.Error)
		if rpcErr != nil || result == nil {
			return splitResult{}, cmp.Or(rpcErr, upstreamError(reply.Error, rq.era))
		}
		reply.Result = result
	} else {
		reply.Result = readableContent(rq.method, rq.protocol(), reply.Result)
	}
	if rq.era == core.Modern {
		return cs.results.complete(rq.method, reply.Result), nil
	}
	if err == nil && (rq.method == "tools/call" || rq.method == "tasks/result") {
		tool, _ := cs.views.of(rq.endpoint, rq.client.Token).Lookup(core.Tools, public)
		reply.Result = revision.WrapOutput(reply.Result, tool.WrapsOutput())
	}
	return splitResult{head: reply.Result}, nil
}

func (vs *views) displayName(server string) string {
	if v, ok := vs.Registry.Server(server); ok {
		if offers := v.Offers(); len(offers) > 0 && offers[0].Label != "" {
			return offers[0].Label
		}
	}
	return server
}

func (b *Bridge) list(ctx context.Context, rq *request, _ *callMessageHandler) (splitResult, *rpcError) {
	kind := listMethods[rq.method]
	if cursor := wire.Bytes(rq.params, rq.spans.Cursor); len(cursor) > 0 && string(cursor) != "null" && string(cursor) != `""` {
		return splitResult{}, newError(codeInvalidParams, "invalid cursor: lists are not paginated")
	}
	b.Lister.WaitListed(ctx, rq.endpoint.server)
	if rq.era == core.Modern {
		b.clients.recordModern(rq)
	}
	view := b.views.of(rq.endpoint, rq.client.Token)
	result := b.views.listResult(rq.endpoint, view.ForEra(rq.era), kind)
	b.listeners.served(rq.client.Token)
	if kind == core.Tools {
		b.clients.recordListing(rq.client, rq.endpoint, view)
		if !hasExtension(rq.capabilities, appsExtension) {
			result = withoutApps(result)
		}
	}
	if rq.era == core.Modern {
		return splitResult{result[:len(result)-1], b.results.listSuffix}, nil
	}
	return splitResult{head: result}, nil
}

// hold reserves budget for a result, or returns an error result instead of it. Lists are
// shared by all clients and need no budget.
func (cs *calls) hold(rq *request, result splitResult) (splitResult, *rpcError, func()) {
	n := int64(len(result.head) + len(result.tail))
	if _, list := listMethods[rq.method]; list {
		n = 0
	}
	release, ok := cs.resultBudget.acquire(rq.client.Token, n)
	if ok {
		return result, nil, release
	}
	err := core.Errorf(core.CodeUnavailable, "the result (%d bytes) was dropped: too many large results are still unread", n)
	err.Hint = "Read the pending results, and request less data at a time. The call was made and is in the history."
	left, rpcErr := cs.result(rq, "", "", core.Reply{}, err)
	return left, rpcErr, func() {}
}

// resolveWorkspace sets the working folder of a call: the first file URI among the roots of the
// client, or the folder in which its shim was started. The client is asked only if the call
// depends on the folder; a legacy session is asked once, and again after it reports that its roots
// changed.
func (cs *calls) resolveWorkspace(ctx context.Context, rq *request, call *core.Call, sink core.ServerMessageHandler) {
	call.Workspace = rq.workspace
	if call.Server == "" || cs.WantsWorkspace == nil || !cs.WantsWorkspace(call) || cs.Elsewhere(call.Client.Token) || !parseClientCapabilities(rq.capabilities).roots {
		return
	}
	ask := askRoots(sink)
	var roots []string
	if rq.session != nil {
		roots, _ = rq.session.roots.resolve(ctx, ask)
	} else {
		limited, cancel := context.WithTimeout(ctx, rootsTimeout)
		defer cancel()
		roots, _ = ask(limited)
	}
	if len(roots) > 0 {
		call.Workspace, call.OtherRoots = roots[0], roots[1:]
	}
}

// Gateway runs and records calls. It is implemented by *gateway.Gateway.
type Gateway interface {
	Call(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error)
	// Ask forwards a request from a server to sink and records it. cause is the call during which
	// the server sent it.
	Ask(ctx context.Context, cause *core.Call, method string, params json.RawMessage, sink core.ServerMessageHandler) (core.Reply, error)
	// RecordNotification records a notification about a task, whose params are those of the call.
	RecordNotification(call *core.Call)
}

// inputMethods lists the methods whose result may be input_required (MCP 2026-07-28).
var inputMethods = map[string]bool{"tools/call": true, "prompts/get": true, "resources/read": true}

// runCall runs a call for rq. In the modern era the result may be input_required.
func (cs *calls) runCall(ctx context.Context, rq *request, call *core.Call, sink *callMessageHandler) (core.Reply, error) {
	sink.server = call.Server
	if rq.era == core.Modern && inputMethods[rq.method] && !emptyObject(rq.capabilities) {
		if can := parseClientCapabilities(rq.capabilities); can != (clientCapabilities{}) {
			return cs.runSuspendable(ctx, rq, call, sink, can)
		}
	}
	cs.resolveWorkspace(ctx, rq, call, sink)
	if rq.era == core.Legacy && wire.MentionsTask(call.Params) {
		sink.taskCall = call
	}
	return cs.Gateway.Call(ctx, call, sink)
}

// message is the body of a POST request, with the result of scanning it.
type message struct {
	body   []byte
	env    wire.Envelope
	params wire.Params // spans of rawParams
	// repaired reports that the body contained invalid Unicode, which was replaced.
	repaired bool
}

func (m *message) id() []byte { return wire.Bytes(m.body, m.env.ID) }

// rawParams returns the params, or nil if they are absent or null.
func (m *message) rawParams() []byte {
	if raw := wire.Bytes(m.body, m.env.Params); string(raw) != "null" {
		return raw
	}
	return nil
}

// parseMessage scans a body. The error is a *wire.Error. If only the params are invalid, parse
// returns the message as well, so that the error response can have its id.
func parseMessage(body []byte) (*message, error) {
	m := &message{body: body}
	var err error
	if m.env, err = wire.Scan(body); err != nil {
		return nil, err
	}
	if m.env.Dirty() {
		// Messages to stdio servers are delimited by newlines, so none may occur between tokens.
		m.repaired = m.env.InvalidUnicode
		m.body = wire.Compact(make([]byte, 0, len(body)), body)
		if m.env, err = wire.Scan(m.body); err != nil {
			return nil, err
		}
	}
	if raw := m.rawParams(); len(raw) > 0 && raw[0] == '{' {
		if m.params, err = wire.ScanParams(raw); err != nil {
			return m, err
		}
	}
	return m, nil
}

const (
	// privatePrefix is the prefix of the headers that only Drawbridge sets. The loopback guard
	// removes them from incoming requests, except those of the shim.
	privatePrefix = "X-Drawbridge-"
	// ClientHeader is the name of the client's token. The loopback guard sets it after
	// authentication.
	ClientHeader = privatePrefix + "Client"
	// GuestHeader is present if the token is that of a guest. The loopback guard sets it.
	GuestHeader = privatePrefix + "Guest"
	// ShimHeader identifies the stdio shim that forwards the request. It is not verified.
	ShimHeader = privatePrefix + "Shim"
)

// requestOrigin is the verified client and the shim that a request comes from.
type requestOrigin struct {
	token string // name of the token; "" without one
	guest bool   // the token is that of a guest
	shim  string
	// workspace is the folder in which the shim was started, or the client works.
	workspace string
	// credential identifies the token, which may be replaced later.
	credential [sha256.Size]byte
}

// readOrigin reads the private headers of a request and removes all of them.
func readOrigin(header http.Header) requestOrigin {
	origin := requestOrigin{token: headerValue(header, ClientHeader), guest: headerValue(header, GuestHeader) != "", shim: headerValue(header, ShimHeader), workspace: decodeWorkspace(headerValue(header, WorkspaceHeader))}
	for name := range header {
		if len(name) > len(privatePrefix) && strings.EqualFold(name[:len(privatePrefix)], privatePrefix) {
			delete(header, name)
		}
	}
	return origin
}
