package bridge

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"

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

// serveSDK lets go-sdk serve a request: it validates what the fast path does not, and handles the
// methods that dispatch does not.
func (b *Bridge) serveSDK(w http.ResponseWriter, x *exchange) {
	x.response = b.newResponseWriter(w, true)
	defer x.response.end()
	b.inFlight.add(x.response, func(error) {}) // go-sdk ends with its session or its listener
	defer b.inFlight.remove(x.response)
	over := make(chan struct{})
	defer close(over)
	x.done = over
	ticket := b.nonce + strconv.FormatUint(b.lastTicket.Add(1), 36)
	b.exchanges.Store(ticket, x)
	defer b.exchanges.Delete(ticket)
	x.request.Header.Set(ticketHeader, ticket)
	writer := &sdkWriter{responseWriter: x.response, exchange: x, bridge: b}
	if x.message != nil {
		body := x.body
		if x.env.Kind == wire.Request {
			writer.id = x.id()
			if !sdkPreservesID(writer.id) {
				body, writer.substituteID = x.substituteID(ticket)
			}
		}
		x.request.Body = io.NopCloser(bytes.NewReader(body))
		x.request.ContentLength = int64(len(body))
	}
	if x.era == core.Modern {
		b.modernHandler.ServeHTTP(writer, x.request)
	} else {
		b.legacyHandler.ServeHTTP(writer, x.request)
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
					res, err = nil, &jsonrpc.Error{Code: codeInternal, Message: "internal error. See the log for details: drawbridge logs"}
				}
			}()
			var x *exchange
			if extra := req.GetExtra(); extra != nil && extra.Header != nil {
				x = b.exchangeByTicket(extra.Header)
			}
			switch {
			case isBridgeMethod(method):
				// The method of the exchange differs if go-sdk decodes the message differently.
				if x == nil || x.message == nil || x.env.Kind != wire.Request || x.env.Method != method {
					return nil, newError(codeRefused, "the client has disconnected").sdk()
				}
				x.response.takeFromSDK()
				b.serveRequest(x)
				return &alreadyAnsweredResult{}, nil
			case method == "initialize":
				return b.initialize(ctx, method, req, x, e, next)
			case method == "server/discover":
				if x != nil && x.message != nil && x.era == core.Modern {
					rq := b.newRequest(x)
					b.modern.begin(rq, b.Now())
					b.recordModernClient(rq)
				}
				return b.discover(ctx, method, req, x, e, next)
			case method == "subscriptions/listen":
				return b.listen(ctx, method, req, x, next)
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

// alreadyAnsweredResult is the result of a request whose response was already written. sdkWriter
// drops it.
type alreadyAnsweredResult struct{ mcp.ResultBase }

// listen registers the listener of subscriptions/listen until the request ends.
func (b *Bridge) listen(ctx context.Context, method string, req mcp.Request, x *exchange, next mcp.MethodHandler) (mcp.Result, error) {
	ss, isServer := req.GetSession().(*mcp.ServerSession)
	params, isListen := req.GetParams().(*mcp.SubscriptionsListenParams)
	if !isServer || !isListen || x == nil {
		return nil, newError(codeRefused, "the client has disconnected").sdk()
	}
	rq := b.newRequest(x)
	tasks := b.requestedTasks(rq)
	x.listener = b.addListener(ss, x, nil, params, tasks)
	defer b.listeners.remove(ss)
	// Cancelling this context lets the SDK send the final response; closing its session would not.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(b.lifetime, func() { cancel(errStopped) })()
	if params.Notifications != nil {
		defer b.unsubscribeAll(ss)
		params.Notifications.ResourceSubscriptions = b.subscribeToAll(ctx, ss, params.Notifications.ResourceSubscriptions)
	}
	if len(tasks) > 0 {
		return b.serveTaskSubscriptions(ctx, x, rq, params.Notifications, tasks)
	}
	return next(ctx, method, req)
}

// sdkWriter lets go-sdk write through a responseWriter. Comments are sent only after a stream
// has begun, because until then the SDK may still set a status. If the SDK refuses a
// message with plain text, the client gets a JSON-RPC error, with the id of its request if it has one.
type sdkWriter struct {
	*responseWriter
	exchange      *exchange
	bridge        *Bridge
	id            []byte // of the request; nil if it has none
	substituteID  []byte // the id that go-sdk was given instead of id; nil if it was given id
	refusedStatus int    // status of a plain-text refusal that the SDK is about to write
}

func (sw *sdkWriter) Header() http.Header { return sw.w.Header() }

func (sw *sdkWriter) WriteHeader(status int) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	switch {
	case sw.ended || sw.streaming:
	case status >= 400 && strings.HasPrefix(sw.w.Header().Get("Content-Type"), "text/plain"):
		sw.refusedStatus = status
	default:
		sw.beginStreamIfEvents(status)
		sw.w.WriteHeader(status)
	}
}

func (sw *sdkWriter) beginStreamIfEvents(status int) {
	if sw.streaming || status != http.StatusOK || sw.w.Header().Get("Content-Type") != "text/event-stream" {
		return
	}
	sw.streaming = true
	setStreamHeaders(sw.w.Header())
}

// Write implements http.ResponseWriter. It drops what follows the response that serveRequest has
// written. A listener gets its notifications after the first write, which acknowledges its request.
func (sw *sdkWriter) Write(p []byte) (int, error) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if sw.ended {
		return len(p), nil
	}
	out := p
	if sw.refusedStatus != 0 {
		sw.w.Header()["Content-Type"] = jsonType
		sw.w.Header().Del("Content-Length")
		sw.w.WriteHeader(sw.refusedStatus)
		sw.refusedStatus = 0
		out = wire.AppendError(nil, sw.id, codeInvalidRequest, strings.TrimSpace(string(p)), nil)
	} else {
		sw.beginStreamIfEvents(http.StatusOK)
		out = sw.withoutSDKTypes(p)
	}
	if sw.substituteID != nil {
		out = bytes.ReplaceAll(out, sw.substituteID, sw.id)
	}
	if sw.write(out); sw.writeErr != nil {
		return 0, sw.writeErr
	}
	if sw.streaming && sw.exchange.listener != nil {
		sw.bridge.attachStream(sw.exchange.listener, sw.responseWriter)
	}
	return len(p), nil
}

// FlushError implements the flush of http.ResponseController.
func (sw *sdkWriter) FlushError() error {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if sw.ended {
		return nil
	}
	sw.flush()
	return sw.writeErr
}

// sdkPreservesID reports whether go-sdk responds with an id byte for byte. It decodes numbers as
// float64, which rounds integers beyond 2^53 and changes the notation of others.
func sdkPreservesID(id []byte) bool {
	if len(id) == 0 || id[0] == '"' {
		return true
	}
	if len(id) > 15 || len(id) > 1 && id[0] == '0' {
		return false
	}
	for _, c := range id {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// substituteID replaces an id that go-sdk would change with a unique string. sdkWriter restores the
// id of the client.
func (x *exchange) substituteID(ticket string) (body, id []byte) {
	id = wire.AppendString(nil, ticket)
	return wire.Splice(nil, x.body, wire.Edit{Span: x.env.ID, With: id}), id
}
