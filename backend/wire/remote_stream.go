package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// readStream reads the events of one call until its reply. It calls the sink directly, so that a
// slow sink slows only this stream. If a legacy server that sends event ids ends the stream early,
// it is resumed after the last event.
func (r *Remote) readStream(ctx context.Context, body io.Reader, pc *pendingCall) (core.Reply, error) {
	place := resumption{delay: streamBackoff}
	reply, done, err := r.readEvents(ctx, body, pc, &place)
	for !done {
		again, cause := r.resume(ctx, &place)
		if cause != nil {
			return core.Reply{}, r.invalidMessageError("no reply before its stream ended", errors.Join(err, cause))
		}
		reply, done, err = r.readEvents(ctx, again, pc, &place)
		again.Close()
	}
	return reply, err
}

// readEvents reads one stream of a call. When it ends without the reply, done is false.
func (r *Remote) readEvents(ctx context.Context, body io.Reader, pc *pendingCall, place *resumption) (reply core.Reply, done bool, err error) {
	events := newEventReader(body, r.o.MaxMessage)
	for {
		ev, err := events.next()
		switch {
		case errors.Is(err, errEventTooLarge):
			return core.Reply{}, true, core.Errorf(core.CodeUnavailable, "result of server %q is larger than the limit of %d bytes", r.o.Server, r.o.MaxMessage)
		case err != nil:
			return core.Reply{}, false, err
		}
		place.record(ev)
		if len(ev.data) == 0 {
			continue
		}
		data, env, repaired, err := r.scanMessage(ev.data)
		if err != nil {
			r.reportJunk(ev.data, err.Error())
			continue
		}
		if env.Kind == Response {
			id, ok := Int(data, env.ID)
			if !ok || id != pc.id {
				r.stats.late.Add(1)
				continue
			}
			reply, ok, err := r.replyFrom(data, env, repaired, pc.id, http.StatusOK)
			if ok || err != nil {
				return reply, true, err
			}
			return core.Reply{}, true, core.Errorf(core.CodeUnavailable, "server %q answered with neither result nor error", r.o.Server)
		}
		r.handleInbound(ctx, data, env, pc)
	}
}

// handleInbound handles a notification or request of the server. pc is the call on whose stream it
// arrived, or nil.
func (r *Remote) handleInbound(ctx context.Context, data []byte, env Envelope, pc *pendingCall) {
	params := Bytes(data, env.Params)
	switch env.Kind {
	case Request:
		r.handleRequest(ctx, data, env, pc)
		return
	case Notification:
	default:
		r.reportJunk(data, "not a JSON-RPC message")
		return
	}
	switch env.Method {
	case "notifications/progress":
		p, err := ScanParams(params)
		if err != nil {
			r.reportJunk(data, err.Error())
			return
		}
		if pc == nil || string(Bytes(params, p.Progress)) != `"`+pc.key+`"` || pc.sink == nil {
			r.stats.late.Add(1)
			return
		}
		pc.sink.Notify(env.Method, Splice(nil, params, Edit{Span: p.Progress, With: pc.token}))
		return
	case "notifications/cancelled":
		if p, err := ScanParams(params); err == nil {
			r.serverRequests.cancel(string(Bytes(params, p.RequestID)))
		}
		return
	case "notifications/message":
		if pc != nil && pc.sink != nil {
			pc.sink.Notify(env.Method, params)
		}
	}
	if r.o.OnNotification != nil && r.allowMessage() {
		r.o.OnNotification(env.Method, params)
	}
}

// handleRequest answers a request of the server by a separate POST.
func (r *Remote) handleRequest(ctx context.Context, data []byte, env Envelope, pc *pendingCall) {
	id := bytes.Clone(Bytes(data, env.ID))
	if env.Method == "ping" {
		r.respondAsync(AppendResult(nil, id, []byte("{}")))
		return
	}
	to := requestHandler(r.o.OnRequest)
	if pc == nil {
		pc = r.onlyPendingCall()
	}
	if pc != nil && pc.sink != nil {
		to = pc.sink.Ask
	} else {
		ctx = r.ctx
	}
	if to == nil {
		r.respondAsync(AppendError(nil, id, CodeRefused, "no client to ask: the request cannot be attributed to a single call", nil))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	if !r.serverRequests.reserve(string(id)) || !r.serverRequests.begin(string(id), cancel) {
		cancel()
		r.stats.dropped.Add(1)
		r.respondAsync(AppendError(nil, id, CodeRefused, "too many requests", nil))
		return
	}
	params := bytes.Clone(Bytes(data, env.Params))
	go func() {
		defer r.serverRequests.wg.Done()
		defer cancel()
		reply, err := to(ctx, env.Method, params)
		if !r.serverRequests.end(string(id)) {
			return
		}
		switch {
		case err != nil:
			message, _ := core.Describe(err)
			r.respond(AppendError(nil, id, CodeRefused, message, nil))
		case len(reply.Error) > 0:
			r.respond(AppendErrorObject(nil, id, removeNewlines(reply.Error)))
		default:
			r.respond(AppendResult(nil, id, removeNewlines(reply.Result)))
		}
	}()
}

// respondAsync posts a response from another goroutine. A server that sends requests faster than it
// accepts responses loses some.
func (r *Remote) respondAsync(body []byte) {
	if !r.serverRequests.spawn(func() { r.respond(body) }) {
		r.stats.dropped.Add(1)
	}
}

// respond posts a response; errors are ignored, because the server retries or gives up.
func (r *Remote) respond(body []byte) {
	ctx, cancel := context.WithTimeout(r.ctx, 10*closeTimeout)
	defer cancel()
	if err := r.send(ctx, "", body); err != nil {
		r.o.Log.Debug("Cannot answer a request of the server", "server", r.o.Server, "error", err)
	}
}

func (r *Remote) onlyPendingCall() *pendingCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	var only *pendingCall
	for _, pc := range r.pending {
		if pc.sink != nil && only != nil {
			return nil
		} else if pc.sink != nil {
			only = pc
		}
	}
	return only
}

func (r *Remote) allowMessage() bool {
	ok, first := r.flood.allow(time.Now())
	if !ok {
		r.stats.dropped.Add(1)
	}
	if first {
		r.o.Log.Warn("Server floods the connection; excess messages are dropped", "server", r.o.Server)
	}
	return ok
}

func (r *Remote) reportJunk(line []byte, reason string) {
	r.stats.junk.Add(1)
	if r.o.OnJunk != nil && r.allowMessage() {
		r.o.OnJunk(line[:min(len(line), 512)], reason)
	}
}
