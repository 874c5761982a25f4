package bridge

import (
	"net/http"

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
