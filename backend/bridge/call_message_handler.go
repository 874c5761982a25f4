package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// callMessageHandler is the core.ServerMessageHandler of a call: it writes notifications and
// requests of the server to the response stream of the call. It serves both the fast path and
// go-sdk.
type callMessageHandler struct {
	bridge   *Bridge
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
			c.bridge.rememberTask(c.rq, call, reply)
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
	return c.rq.endpoint.server != "" && sharesUnknownExtension(c.rq.era, c.rq.capabilities, c.bridge.view(c.rq.endpoint, c.rq.client.Token).Offers())
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
		return c.bridge.askUser(ctx, c.server, c.rq, method, params, missing)
	}
	params = c.publicTask(c.bridge.publicQuestion(c.rq, c.server, params))
	params = readableContent(method, s.version, params)
	if method == "elicitation/create" {
		params = c.withElicitationID(params)
	}
	id, answer := s.registerRequest(c.bridge.nonce)
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
	limit := time.NewTimer(c.bridge.AskTimeout)
	defer limit.Stop()
	select {
	case reply := <-answer:
		if c.rq.endpoint.server == "" {
			reply.Result = c.bridge.ownAnswer(c.rq, c.server, reply.Result)
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

// cancelClientRequest notifies the client that a request to it was cancelled.
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
