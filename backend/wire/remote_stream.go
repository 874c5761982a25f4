package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

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
			return core.Reply{}, r.noReplyError(pc, errors.Join(err, cause))
		}
		reply, done, err = r.readEvents(ctx, again, pc, &place)
		again.Close()
	}
	return reply, err
}

// readEvents reads one stream of a call. When it ends without the reply, done is false.
func (r *Remote) readEvents(ctx context.Context, body io.Reader, pc *pendingCall, place *resumption) (reply core.Reply, done bool, err error) {
	events := NewEventReader(body, r.o.MaxMessage)
	for {
		ev, err := events.Next()
		switch {
		case errors.Is(err, errEventTooLarge):
			return core.Reply{}, true, core.Errorf(core.CodeUnavailable, "the result from server %q is larger than the limit of %d bytes", r.o.Server, r.o.MaxMessage)
		case err != nil:
			return core.Reply{}, false, err
		}
		place.record(ev)
		if len(ev.Data) == 0 {
			continue
		}
		data, env, repaired, err := r.scanMessage(ev.Data)
		if err != nil {
			r.reportJunk(ev.Data, err.Error())
			continue
		}
		if env.Kind == Response {
			id, ok := Int(data, env.ID)
			if !ok || id != pc.id {
				r.recordUnmatched(data, env.ID, pc)
				continue
			}
			reply, ok, err := r.replyFrom(data, env, repaired, pc.id, http.StatusOK)
			if ok || err != nil {
				return reply, true, err
			}
			return core.Reply{}, true, core.Errorf(core.CodeUnavailable, "server %q responded with neither result nor error", r.o.Server)
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
		if pc == nil || string(Bytes(params, p.NotifiedProgressToken)) != `"`+pc.sentToken+`"` || pc.sink == nil {
			r.stats.late.Add(1)
			return
		}
		pc.sink.Notify(env.Method, pc.restoreToken(params, p.NotifiedProgressToken))
		return
	case "notifications/cancelled":
		r.cancelRequest(params)
		return
	case "notifications/message":
		if pc != nil && pc.sink != nil && pc.mayReceive(params) {
			pc.sink.Notify(env.Method, params)
		}
	default:
		if pc != nil && pc.sink != nil && IsExtensionNotification(env.Method) {
			pc.sink.Notify(env.Method, params)
			return
		}
	}
	r.notify(env.Method, params)
}

// handleRequest answers a request of the server by a separate POST.
func (r *Remote) handleRequest(ctx context.Context, data []byte, env Envelope, pc *pendingCall) {
	in := inboundMessage{method: env.Method, id: bytes.Clone(Bytes(data, env.ID)), params: bytes.Clone(Bytes(data, env.Params))}
	p, err := ScanParams(in.params)
	if err != nil {
		r.refuse(in.id, CodeInvalidParams, "invalid params: "+err.Error())
		return
	}
	if task, related := p.RelatedTaskID(in.params); related && (pc == nil || pc.task != task) {
		pc = r.callForTask(task)
		ctx = r.ctx // the request outlives the stream on which it arrived
	} else if pc == nil {
		pc = r.onlyPendingCall()
	}
	to, parent := r.onRequest, r.ctx
	if pc != nil && pc.sink != nil {
		to, parent = pc.sink.Ask, ctx
	}
	if r.admitRequest(in, to != nil) {
		r.answerRequest(parent, to, in)
	}
}

// postResponseSoon posts a response from another goroutine. A server that sends requests faster
// than it accepts responses loses some.
func (r *Remote) postResponseSoon(body []byte) {
	if !r.requests.spawn(func() { r.postResponse(body) }) {
		r.stats.dropped.Add(1)
	}
}

// postResponse posts a response; errors are ignored, because the server retries or gives up.
func (r *Remote) postResponse(body []byte) {
	ctx, cancel := context.WithTimeout(r.ctx, 10*closeTimeout)
	defer cancel()
	if err := r.send(ctx, "", body); err != nil {
		r.log.Debug("Cannot respond to a request from the server", "server", r.server, "error", err)
	}
}

func (r *Remote) callForTask(task string) *pendingCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return waitingForTask(r.pending, task)
}

func (r *Remote) onlyPendingCall() *pendingCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return onlyWithSink(r.pending)
}
