package bridge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// callMessageHandler is the core.ServerMessageHandler of a call: it writes notifications and
// requests of the server to the response stream of the call.
type callMessageHandler struct {
	calls    *calls
	rq       *request
	response *responseWriter
	server   string     // id of the server that the call went to
	taskCall *core.Call // of a legacy task; nil for other calls
}

// ObserveReply implements core.ReplyObserver: a new task is known before the server's messages
// about it.
func (c *callMessageHandler) ObserveReply(reply core.Reply) {
	if call := c.taskCall; call != nil && unusableTaskError(c.rq, call.Server, call.Params, reply.Result) == nil {
		if t, created, _ := wire.ParseNewTask(call.Era, call.Params, reply.Result); created {
			reply.Task = &core.Task{Call: call.ID, ID: t.ID, Status: t.Status, TTL: t.TTL}
			c.calls.rememberTask(c.rq, call, reply)
		}
	}
}

// Notify implements core.ServerMessageHandler.
func (c *callMessageHandler) Notify(method string, params json.RawMessage) {
	if method == "notifications/message" && !c.wantsLevel(params) {
		return
	}
	if wire.IsExtensionNotification(method) && !c.passesExtensions() {
		return
	}
	params = c.publicTask(params)
	_ = c.response.sendEvent(wire.AppendNotification(make([]byte, 0, len(params)+96), method, params))
}

// passesExtensions reports whether notifications of unknown extensions pass to the client.
func (c *callMessageHandler) passesExtensions() bool {
	return c.rq.endpoint.server != "" && sharesUnknownExtension(c.rq.era, c.rq.capabilities, c.calls.views.of(c.rq.endpoint, c.rq.client.Token).Offers())
}

// publicTask returns the params of a message with the public id of the task that it belongs to.
func (c *callMessageHandler) publicTask(params []byte) []byte {
	if c.rq.endpoint.server != "" {
		return params
	}
	return rewriteTaskIDs(params, publicTaskID(c.server))
}

// wantsLevel reports whether the client wants a log message of this level. A modern client must
// have requested log messages in its request.
func (c *callMessageHandler) wantsLevel(params []byte) bool {
	least := c.rq.logLevel
	if least == "" {
		return false
	}
	found, _ := wire.Pick(params, "level")
	level, _ := wire.Unquote(wire.Bytes(params, found[0]))
	return severity(level) >= severity(least)
}

var severities = map[string]int{
	"debug": 1, "info": 2, "notice": 3, "warning": 4, "error": 5, "critical": 6, "alert": 7, "emergency": 8,
}

// severity orders log levels. An unknown level is higher than all others, so it is always sent.
func severity(level string) int {
	if n, ok := severities[level]; ok {
		return n
	}
	return len(severities) + 1
}

// Ask implements core.ServerMessageHandler. It asks only the client whose call caused the request,
// on the stream of that call. If the client cannot be asked, the server gets a JSON-RPC error, and
// the call continues.
func (c *callMessageHandler) Ask(ctx context.Context, method string, params json.RawMessage) (core.Reply, error) {
	s := c.rq.session
	var can clientCapabilities // stays empty for a modern client, which is asked by suspendedCall
	if s != nil {
		can = s.parsedCapabilities
	}
	missing := can.missingFor(method, params)
	if missing == "" && s != nil && method == "elicitation/create" && s.version < firstWithFormLists && asksForList(params) {
		missing = "forms with lists"
	}
	if missing != "" || s == nil {
		return c.calls.askUser(ctx, c.server, c.rq, method, params, missing)
	}
	params = c.publicTask(c.calls.views.publicQuestion(c.rq, c.server, params))
	params = readableContent(method, s.version, params)
	if method == "elicitation/create" {
		params = c.withElicitationID(params)
	}
	id, answer := s.registerRequest(c.calls.nonce)
	defer s.forgetRequest(id)
	ask := make([]byte, 0, len(params)+len(method)+96)
	ask = append(ask, messagePrefix...)
	ask = wire.AppendString(ask, id)
	ask = append(ask, `,"method":`...)
	ask = wire.AppendString(ask, method)
	if len(params) > 0 {
		ask = append(append(ask, `,"params":`...), params...)
	}
	if err := c.response.sendEvent(append(ask, '}')); err != nil {
		return cannotAskReply("the client that made this call is no longer listening"), nil
	}
	limit := time.NewTimer(c.calls.AskTimeout)
	defer limit.Stop()
	select {
	case reply := <-answer:
		if c.rq.endpoint.server == "" {
			reply.Result = c.calls.views.ownAnswer(c.rq, c.server, reply.Result)
			reply.Result = rewriteTaskIDs(reply.Result, func(public string) string {
				return strings.TrimPrefix(public, c.server+taskSeparator)
			})
		}
		return reply, nil
	case <-limit.C:
		c.cancelClientRequest(id, "timed out")
		return core.Reply{Error: wire.ErrorObject(codeRefused, "the client did not respond in time", nil)}, nil
	case <-s.ctx.Done():
		return cannotAskReply("the client that made this call is no longer listening"), nil
	case <-ctx.Done():
		why := "the call ended"
		if cancelled, ok := errors.AsType[*wire.CancelledByServer](context.Cause(ctx)); ok {
			why = cmp.Or(cancelled.Reason, cancelled.Error())
		}
		c.cancelClientRequest(id, why)
		return core.Reply{}, context.Cause(ctx)
	}
}

func (c *callMessageHandler) cancelClientRequest(id, why string) {
	params := append([]byte(nil), `{"requestId":`...)
	params = wire.AppendString(params, id)
	params = append(params, `,"reason":`...)
	params = append(wire.AppendString(params, why), '}')
	_ = c.response.sendEvent(wire.AppendNotification(nil, "notifications/cancelled", params))
}

func cannotAskReply(message string) core.Reply {
	return core.Reply{Error: wire.ErrorObject(codeMethodNotFound, message, nil)}
}

// discardMessageHandler is the sink of a request without a client.
type discardMessageHandler struct{}

func (discardMessageHandler) Notify(string, json.RawMessage) {}

func (discardMessageHandler) Ask(context.Context, string, json.RawMessage) (core.Reply, error) {
	return cannotAskReply("cannot forward the request: it does not belong to a client"), nil
}

// maxRounds limits how often a server may request input within one call.
const maxRounds = 10

var inputRequiredMark = []byte(`"input_required"`)

// answerInputRequests lets a legacy client answer a modern server. A modern server does not send
// requests: its result says input_required, and it expects the call to be repeated with the input.
// answerInputRequests asks the client as a legacy server would, and repeats the call until the
// server returns another result. Each round is recorded as a separate call.
func (cs *calls) answerInputRequests(ctx context.Context, call *core.Call, sink core.ServerMessageHandler, reply core.Reply) (core.Reply, error) {
	for range maxRounds {
		input, ok := parseInputRequest(reply.Result)
		if !ok {
			return reply, nil
		}
		if len(input.InputRequests) == 0 {
			return core.Reply{}, &core.Error{Code: core.CodeUnavailable, Message: "the server is busy", Hint: "Try again later.", Retriable: true}
		}
		answers, err := cs.askInputs(ctx, call, sink, input)
		if err != nil {
			return core.Reply{}, err
		}
		if reply, err = cs.Gateway.Call(ctx, cs.repeatCall(call, answers, nil), sink); err != nil {
			return core.Reply{}, err
		}
	}
	return core.Reply{}, core.Errorf(core.CodeRejected, "the server asked for input more than %d times", maxRounds)
}

// repeatCall returns a copy of a call whose params begin with answers (raw members; may be empty).
// If capabilities is not nil, it replaces the client capabilities in _meta.
func (cs *calls) repeatCall(call *core.Call, answers, capabilities []byte) *core.Call {
	now := cs.Now()
	again := *call // everything that identifies the call; what the first round has found is reset
	repeated := &again
	repeated.At, repeated.Began, repeated.Continues = now.UTC(), now, true
	repeated.ID, repeated.Meta, repeated.HasModernMeta, repeated.Task = 0, core.Span{}, false, nil
	repeated.Outcome, repeated.Code, repeated.Reason, repeated.Stack = core.OutcomeRunning, "", "", ""
	repeated.Took, repeated.Queued, repeated.BytesOut, repeated.Attempts, repeated.Instance = 0, 0, 0, 0, ""
	repeated.Progress, repeated.ProgressLog, repeated.Verdict, repeated.Repaired = 0, nil, nil, false
	repeated.ServedBy, repeated.Cached, repeated.Approval = nil, false, ""
	params := append([]byte{'{'}, answers...)
	_ = wire.Members(call.Params, func(m wire.Member) error {
		if name := string(m.Name); len(answers) == 0 || name != "inputResponses" && name != "requestState" {
			params = append(append(params, call.Params[m.Key.Start:m.Value.End]...), ',')
		}
		return nil
	})
	params = append(bytes.TrimSuffix(params, []byte{','}), '}')
	spans, _ := wire.ScanParams(params)
	if capabilities != nil && !spans.ClientCapabilities.Empty() {
		repeated.Capabilities = capabilities
		params = wire.Splice(nil, params, wire.Edit{Span: spans.ClientCapabilities, With: capabilities})
		spans, _ = wire.ScanParams(params)
	}
	repeated.Params, repeated.Arguments, repeated.ProgressToken = params, spans.Arguments, spans.ProgressToken
	repeated.BytesIn = len(params)
	return repeated
}

// inputRequiredResult is a result of type input_required (MCP 2026-07-28).
type inputRequiredResult struct {
	ResultType    string `json:"resultType"`
	InputRequests map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"inputRequests"`
	RequestState json.RawMessage `json:"requestState"`
}

func parseInputRequest(result []byte) (input inputRequiredResult, ok bool) {
	if !bytes.Contains(result, inputRequiredMark) || json.Unmarshal(result, &input) != nil {
		return input, false
	}
	return input, input.ResultType == "input_required"
}

// askInputs requests the inputs from the client one at a time, in the order of their keys, and
// returns inputResponses and requestState as raw members for repeatCall.
func (cs *calls) askInputs(ctx context.Context, cause *core.Call, sink core.ServerMessageHandler, input inputRequiredResult) ([]byte, error) {
	names := make([]string, 0, len(input.InputRequests))
	for name := range input.InputRequests {
		names = append(names, name)
	}
	slices.Sort(names)
	out := []byte(`"inputResponses":{`)
	for i, name := range names {
		request := input.InputRequests[name]
		reply, err := cs.Gateway.Ask(ctx, cause, request.Method, request.Params, sink)
		if err != nil {
			return nil, err
		}
		if len(reply.Error) > 0 {
			var e struct{ Message string }
			_ = json.Unmarshal(reply.Error, &e)
			return nil, core.Errorf(core.CodeRejected, "the server needs input that the client did not provide: %s", e.Message)
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(wire.AppendString(out, name), ':')
		out = append(out, reply.Result...)
	}
	out = append(out, "},"...)
	if len(input.RequestState) > 0 {
		out = append(append(append(out, `"requestState":`...), input.RequestState...), ',')
	}
	return out, nil
}

// Approvals asks the user. It is implemented by *approvals.Inbox.
type Approvals interface {
	Ask(ctx context.Context, item approvals.Item) (approvals.Answer, error)
}

// askUser answers a server's request in place of a client that cannot. Only elicitation can be
// shown to the user; rq is nil if the request belongs to no single call.
func (cs *calls) askUser(ctx context.Context, server string, rq *request, method string, params json.RawMessage, missing string) (core.Reply, error) {
	refusal := cannotAskReply("the client that made this call does not support " + missing)
	if cs.Approvals == nil || method != "elicitation/create" {
		return refusal, nil
	}
	item, err := approvals.ItemFromElicitation(params)
	if err != nil {
		return refusal, nil
	}
	item.Server = server
	if rq != nil {
		item.Client = rq.client
		public, _ := wire.Unquote(wire.Bytes(rq.params, rq.spans.Name))
		item.Tool = public
	}
	answer, err := cs.Approvals.Ask(ctx, item)
	if ctx.Err() != nil {
		return core.Reply{}, context.Cause(ctx)
	}
	if err != nil {
		message, _ := core.Describe(err)
		return core.Reply{Error: wire.ErrorObject(codeRefused, message, nil)}, nil
	}
	return core.Reply{Result: answer.Result()}, nil
}

// answerForClient asks the user in place of a modern client without elicitation, if a modern server
// requests nothing else, and repeats the call with the answers. Results that the client can handle
// itself are returned unchanged.
func (cs *calls) answerForClient(ctx context.Context, rq *request, call *core.Call, sink *callMessageHandler, reply core.Reply) (core.Reply, error) {
	if cs.Approvals == nil {
		return reply, nil
	}
	var err error
	var capabilities []byte
	if bytes.Contains(reply.Error, missingCapabilityMark) {
		if capabilities = withElicitation(reply.Error, rq.capabilities); capabilities == nil {
			return reply, nil
		}
		if reply, err = cs.Gateway.Call(ctx, cs.repeatCall(call, nil, capabilities), sink); err != nil {
			return core.Reply{}, err
		}
	}
	for range maxRounds {
		input, ok := parseInputRequest(reply.Result)
		if !ok || len(input.InputRequests) == 0 {
			return reply, nil
		}
		can := parseClientCapabilities(rq.capabilities)
		for _, request := range input.InputRequests {
			if request.Method != "elicitation/create" || can.missingFor(request.Method, request.Params) == "" {
				return reply, nil
			}
		}
		answers, err := cs.askInputs(ctx, call, sink, input)
		if err != nil {
			return core.Reply{}, err
		}
		if reply, err = cs.Gateway.Call(ctx, cs.repeatCall(call, answers, capabilities), sink); err != nil {
			return core.Reply{}, err
		}
	}
	return core.Reply{}, core.Errorf(core.CodeRejected, "the server asked for input more than %d times", maxRounds)
}

var missingCapabilityMark = []byte("-32021")

// withElicitation returns the capabilities of a client plus elicitation, if the server's error says
// that only elicitation is missing, else nil.
func withElicitation(object, capabilities []byte) []byte {
	var e struct {
		Code int `json:"code"`
		Data struct {
			Required map[string]json.RawMessage `json:"requiredCapabilities"`
		} `json:"data"`
	}
	var has map[string]json.RawMessage
	if json.Unmarshal(object, &e) != nil || e.Code != codeNeedsCapability || json.Unmarshal(capabilities, &has) != nil || has == nil {
		return nil
	}
	wanted, ok := e.Data.Required["elicitation"]
	if _, already := has["elicitation"]; !ok || already || len(e.Data.Required) != 1 {
		return nil
	}
	has["elicitation"] = wanted
	all, err := json.Marshal(has)
	if err != nil {
		return nil
	}
	return all
}

// Ask answers a request of a process of a server that cannot be attributed to a single call. If it
// names a task, the client that created the task is asked. Otherwise an elicitation is shown to the
// user, because any client could be the wrong one. A server that asks for roots, as many do when they
// start, gets none; other requests get an error.
func (b *Bridge) Ask(ctx context.Context, server, process, method string, params json.RawMessage) (core.Reply, error) {
	if p, err := wire.ScanParams(params); err == nil {
		if id, related := p.RelatedTaskID(params); related {
			if t, known := b.tasks.notified(server, process, id); known {
				return b.tasks.ask(ctx, server, t, method, params)
			}
		}
	}
	if method == "roots/list" {
		return core.Reply{Result: []byte(`{"roots":[]}`)}, nil
	}
	if b.Approvals == nil || method != "elicitation/create" {
		return cannotAskReply("cannot forward the request: it cannot be attributed to a single call"), nil
	}
	return b.Gateway.Ask(ctx, &core.Call{Server: server}, method, params, detachedMessageHandler{b.calls, server})
}

// detachedMessageHandler is the sink of a request that cannot be attributed to a single call.
type detachedMessageHandler struct {
	calls  *calls
	server string
}

// Notify implements core.ServerMessageHandler.
func (detachedMessageHandler) Notify(string, json.RawMessage) {}

// Ask implements core.ServerMessageHandler.
func (s detachedMessageHandler) Ask(ctx context.Context, method string, params json.RawMessage) (core.Reply, error) {
	return s.calls.askUser(ctx, s.server, nil, method, params, "elicitation")
}
