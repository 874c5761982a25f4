package bridge

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

var (
	resultOpen  = []byte(`{"jsonrpc":"2.0","id":`)
	resultThen  = []byte(`,"result":`)
	objectClose = []byte(`}`)
)

// serveFast serves a request of a method that dispatch handles, without go-sdk.
func (b *Bridge) serveFast(w http.ResponseWriter, r *http.Request, x *exchange) {
	parent := r.Context() // a modern call ends with its HTTP request
	if x.session != nil {
		parent = x.session.ctx
	}
	life := core.NewLife(parent)
	defer life.End(nil)
	if s := x.session; s != nil {
		key := idKey(x.id())
		if !s.begin(key, life.End) {
			writeError(w, http.StatusBadRequest, x.id(), codeInvalidRequest, "a request with this id is still under way")
			return
		}
		defer s.finish(key)
	}
	out := b.newResponseWriter(w)
	defer out.end()
	own := &inFlightRequest{cancel: life.End, out: out}
	b.inFlight.add(own)
	defer b.inFlight.remove(own)
	rq := b.newRequest(x, r.Header)
	result, f := b.dispatch(life, rq, &callSink{bridge: b, rq: rq, out: out})
	if f == nil {
		var release func()
		result, f, release = b.holdResult(rq, result)
		defer release()
	}
	if f != nil {
		out.reply(f.status(x.era), wire.AppendErrorObject(nil, x.id(), f.object))
		return
	}
	out.reply(http.StatusOK, resultOpen, x.id(), resultThen, result.head, result.tail, objectClose)
}

// callSink is the core.Sink of a call: it writes notifications and requests of the server to the
// response stream of the call. It serves both the fast path and go-sdk.
type callSink struct {
	bridge *Bridge
	rq     *request
	out    *responseWriter
	server string // id of the server that the call went to
}

// Notify implements core.Sink.
func (c *callSink) Notify(method string, params json.RawMessage) {
	if method == "notifications/message" && !c.wantsLevel(params) {
		return
	}
	_ = c.out.sendEvent(wire.AppendNotification(make([]byte, 0, len(params)+96), method, params))
}

// wantsLevel reports whether the client wants a log message of this level. A modern client must
// have requested log messages in its request.
func (c *callSink) wantsLevel(params []byte) bool {
	least := c.rq.level
	if least == "" {
		return false
	}
	level := ""
	_ = wire.Members(params, func(m wire.Member) error {
		if string(m.Name) == "level" {
			level, _ = wire.Unquote(wire.Bytes(params, m.Value))
		}
		return nil
	})
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

// Ask implements core.Sink. It asks only the client whose call caused the request, on the stream of
// that call. If the client cannot be asked, the server gets a JSON-RPC error, and the call
// continues.
func (c *callSink) Ask(ctx context.Context, method string, params json.RawMessage) (core.Reply, error) {
	s := c.rq.session
	var can clientCapabilities // stays empty for a modern client, which is asked by suspendedCall
	if s != nil {
		can = s.can
	}
	if missing := can.missingFor(method, params); missing != "" || s == nil {
		return c.bridge.askUser(ctx, c.server, c.rq, method, params, missing)
	}
	id, answer := s.registerRequest(c.bridge.nonce)
	defer s.forget(id)
	ask := make([]byte, 0, len(params)+len(method)+96)
	ask = append(ask, resultOpen...)
	ask = wire.AppendString(ask, id)
	ask = append(ask, `,"method":`...)
	ask = wire.AppendString(ask, method)
	if len(params) > 0 {
		ask = append(append(ask, `,"params":`...), params...)
	}
	if err := c.out.sendEvent(append(ask, '}')); err != nil {
		return notAskedReply("the client of this call is no longer listening"), nil
	}
	limit := time.NewTimer(c.bridge.AskTimeout)
	defer limit.Stop()
	select {
	case reply := <-answer:
		return reply, nil
	case <-limit.C:
		c.withdraw(id, "no answer in time")
		return core.Reply{Error: wire.ErrorObject(codeRefused, "the client did not answer in time", nil)}, nil
	case <-ctx.Done():
		c.withdraw(id, "the call ended")
		return core.Reply{}, context.Cause(ctx)
	}
}

// withdraw notifies the client that a request to it was cancelled.
func (c *callSink) withdraw(id, why string) {
	params := append([]byte(nil), `{"requestId":`...)
	params = wire.AppendString(params, id)
	params = append(params, `,"reason":`...)
	params = append(wire.AppendString(params, why), '}')
	_ = c.out.sendEvent(wire.AppendNotification(nil, "notifications/cancelled", params))
}

func notAskedReply(message string) core.Reply {
	return core.Reply{Error: wire.ErrorObject(codeMethodNotFound, message, nil)}
}
