package bridge

import (
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

var (
	messagePrefix = []byte(`{"jsonrpc":"2.0","id":`)
	resultKey     = []byte(`,"result":`)
	objectClose   = []byte(`}`)
)

// serveFast serves a request of a method that dispatch handles, without go-sdk.
func (b *Bridge) serveFast(w http.ResponseWriter, r *http.Request, x *exchange) {
	parent := r.Context() // a modern call ends with its HTTP request
	if x.session != nil {
		parent = x.session.ctx
	}
	callCtx := core.NewCallContext(parent)
	defer callCtx.Cancel(nil)
	if s := x.session; s != nil {
		key := idKey(x.id())
		if !s.beginCall(key, callCtx.Cancel) {
			writeError(w, http.StatusBadRequest, x.id(), codeInvalidRequest, "a request with this id is still in flight")
			return
		}
		defer s.endCall(key)
	}
	out := b.newResponseWriter(w)
	defer out.end()
	entry := &inFlightRequest{cancel: callCtx.Cancel, response: out}
	b.inFlight.add(entry)
	defer b.inFlight.remove(entry)
	rq := b.newRequest(x, r.Header)
	result, rpcErr := b.dispatch(callCtx, rq, &callSink{bridge: b, rq: rq, response: out})
	if rpcErr == nil {
		var release func()
		result, rpcErr, release = b.holdResult(rq, result)
		defer release()
	}
	if rpcErr != nil {
		out.reply(rpcErr.status(x.era), wire.AppendErrorObject(nil, x.id(), rpcErr.object))
		return
	}
	out.reply(http.StatusOK, messagePrefix, x.id(), resultKey, result.head, result.tail, objectClose)
}
