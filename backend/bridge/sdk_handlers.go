package bridge

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newSDKHandlers creates the go-sdk handlers, one for each era. Their sessions do not time out,
// because the SDK does not see the fast path; idle sessions are closed by Run. Host and body size
// are checked before the handlers.
func (b *Bridge) newSDKHandlers() (stateful, stateless *mcp.StreamableHTTPHandler) {
	server := func(r *http.Request) *mcp.Server {
		x := b.exchangeByTicket(r.Header)
		if x == nil {
			return nil
		}
		return b.sdkServerFor(x)
	}
	stateful = mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		DisableLocalhostProtection: true, MaxRequestBodyBytes: -1,
	})
	stateless = mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		DisableLocalhostProtection: true, MaxRequestBodyBytes: -1,
		Stateless: true, PropagateRequestCancellation: true,
	})
	return stateful, stateless
}

// serveSDK lets go-sdk serve a request.
func (b *Bridge) serveSDK(w http.ResponseWriter, r *http.Request, x *exchange) {
	x.response = b.newResponseWriter(w)
	defer x.response.end()
	over := make(chan struct{})
	defer close(over)
	x.done = over
	ticket := b.nonce + strconv.FormatUint(b.lastTicket.Add(1), 36)
	b.exchanges.Store(ticket, x)
	defer b.exchanges.Delete(ticket)
	r.Header.Set(ticketHeader, ticket)
	writer := &sdkWriter{responseWriter: x.response}
	if x.message != nil {
		body := x.body
		if x.env.Kind == wire.Request {
			writer.id = x.id()
			if !sdkPreservesID(writer.id) {
				body, writer.substituteID = x.substituteID(ticket)
			}
		}
		withBody(r, body)
	}
	if x.era == core.Modern {
		b.modernHandler.ServeHTTP(writer, r)
	} else {
		b.legacyHandler.ServeHTTP(writer, r)
	}
}

func (b *Bridge) exchangeByTicket(header http.Header) *exchange {
	x, _ := b.exchanges.Load(header.Get(ticketHeader))
	found, _ := x.(*exchange)
	return found
}

// middleware returns the go-sdk middleware that receives every message of an endpoint.
func (b *Bridge) middleware(e *endpointServer) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			defer func() {
				// go-sdk calls the middleware in a separate goroutine, where a panic would end the
				// process.
				if p := recover(); p != nil {
					b.Log.Error("Panic while handling a request", "method", method, "panic", p, "stack", string(debug.Stack()))
					res, err = nil, &jsonrpc.Error{Code: codeInternal, Message: "something went wrong inside Drawbridge"}
				}
			}()
			var x *exchange
			if extra := req.GetExtra(); extra != nil && extra.Header != nil {
				x = b.exchangeByTicket(extra.Header)
			}
			switch {
			case x != nil && isBridgeMethod(method):
				return b.dispatchFromSDK(ctx, method, req, x)
			case isBridgeMethod(method):
				// The client disconnected before go-sdk handled its request.
				return nil, newError(codeRefused, "the client has disconnected").sdk()
			case method == "initialize":
				return b.initialize(ctx, method, req, x, e, next)
			case method == "server/discover":
				if x != nil && x.message != nil && x.era == core.Modern {
					b.recordClient(b.newRequest(x, req.GetExtra().Header))
				}
				return b.discover(ctx, method, req, x, e, next)
			}
			if method == "subscriptions/listen" {
				ss, ok := req.GetSession().(*mcp.ServerSession)
				if !ok || x == nil {
					return nil, newError(codeRefused, "the client has disconnected").sdk()
				}
				b.addListener(ss, x.endpoint, x.origin)
				defer b.listeners.remove(ss)
				// Cancelling this context lets the SDK send the final response; closing its session
				// would not.
				listen, cancel := context.WithCancelCause(ctx)
				defer cancel(nil)
				defer context.AfterFunc(b.lifetime, func() { cancel(errStopped) })()
				return next(listen, method, req)
			}
			if p, ok := req.GetParams().(*mcp.SetLoggingLevelParams); ok {
				level := string(p.Level)
				if severities[level] == 0 {
					return nil, newError(codeInvalidParams, "the log level is unknown").sdk()
				}
				if x != nil && x.session != nil {
					x.session.level.Store(&level)
				}
			}
			return next(ctx, method, req)
		}
	}
}

// dispatchFromSDK calls dispatch for a request that arrived through go-sdk. Notifications and
// requests of the server are written to the same HTTP response, before the SDK writes the result.
func (b *Bridge) dispatchFromSDK(ctx context.Context, method string, req mcp.Request, x *exchange) (mcp.Result, error) {
	m := x.message
	if m == nil || m.env.Kind != wire.Request || m.env.Method != method {
		var err error
		if m, err = encodeParams(method, req.GetParams()); err != nil { // an element of a batch
			return nil, newError(codeInvalidParams, "the params cannot be read").sdk()
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(b.lifetime, func() { cancel(errStopped) })()
	if s := x.session; s != nil {
		defer context.AfterFunc(s.ctx, func() { cancel(errSessionEnded) })()
		if m == x.message {
			key := idKey(m.id())
			if !s.beginCall(key, cancel) {
				return nil, newError(codeInvalidRequest, "a request with this id is still in flight").sdk()
			}
			defer s.endCall(key)
		}
	}
	copied := *x
	copied.message = m
	rq := b.newRequest(&copied, req.GetExtra().Header)
	result, rpcErr := b.dispatch(ctx, rq, &callSink{bridge: b, rq: rq, response: x.response})
	if rpcErr != nil {
		return nil, rpcErr.sdk()
	}
	return &rawResult{raw: slices.Concat(result.head, result.tail)}, nil
}

// encodeParams builds a message from params that the SDK has decoded.
func encodeParams(method string, params mcp.Params) (*message, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	if string(raw) == "null" {
		raw = []byte("{}")
	}
	return parseMessage(wire.AppendRequest(nil, 0, method, raw))
}

// rawResult passes a raw result through go-sdk without decoding it.
type rawResult struct {
	mcp.ResultBase
	raw json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (r *rawResult) MarshalJSON() ([]byte, error) { return r.raw, nil }
