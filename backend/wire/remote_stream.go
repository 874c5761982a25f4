package wire

import (
	"bytes"
	"context"
	"errors"
	"io"

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
		err = r.eachMessage(ev.Data, func(data []byte, env Envelope, repaired bool) {
			if env.Kind != Response {
				r.handleInbound(data, env, pc)
				return
			}
			id, _, ok := replyID(Bytes(data, env.ID))
			found, isReply := r.replyFrom(data, env, repaired, pc.id, true, false)
			switch {
			case done:
			case isReply:
				reply, done = found, true
			case ok && id == pc.id:
				reply, done = core.Reply{}, true
			case !r.completeStray(data, env, repaired):
				r.recordUnmatched(data, env.ID, pc)
			}
		})
		if err != nil {
			r.reportJunk(ev.Data, err.Error())
		}
		if done && len(reply.Result) == 0 && len(reply.Error) == 0 {
			return core.Reply{}, true, core.Errorf(core.CodeUnavailable, "server %q responded with neither result nor error", r.o.Server)
		}
		if done {
			return reply, true, nil
		}
	}
}

// completeStray completes the call whose reply arrived on another stream than that of the call.
func (r *Remote) completeStray(data []byte, env Envelope, repaired bool) bool {
	id, _, _ := replyID(Bytes(data, env.ID))
	r.mu.Lock()
	pc := r.pending[id]
	r.mu.Unlock()
	if pc == nil {
		return false
	}
	reply, ok := r.replyFrom(data, env, repaired, id, true, false)
	if ok {
		select {
		case pc.replied <- reply:
			pc.replyEnd(errAnswered)
		default: // it has one
		}
	}
	return ok
}

// handleInbound handles a notification or request of the server. pc is the call on whose stream it
// arrived, or nil; it need not be the call that the message belongs to.
func (r *Remote) handleInbound(data []byte, env Envelope, pc *pendingCall) {
	params := Bytes(data, env.Params)
	switch env.Kind {
	case Request:
		r.handleRequest(data, env, pc)
		return
	case Notification:
	default:
		r.reportJunk(data, "not a JSON-RPC message")
		return
	}
	switch env.Method {
	case "notifications/progress":
		if pc == nil {
			r.hasStrayProgress.Store(true)
		}
		if to, params := r.callOfProgress(data, env); to != nil {
			r.deliver(to, pc, env.Method, params)
		}
		return
	case "notifications/cancelled":
		r.cancelRequest(params)
		return
	case "notifications/message":
		to := pc
		if pc == nil || !pc.mayReceive(params) {
			to = r.callOfLogMessage(params)
		}
		if to != nil && to.sink != nil {
			r.deliver(to, pc, env.Method, params)
		}
	default:
		if pc != nil && pc.sink != nil && IsExtensionNotification(env.Method) {
			r.deliver(pc, pc, env.Method, params)
			return
		}
	}
	r.notify(env.Method, params)
}

// deliver passes a notification to the sink of the call to. stream is the call on whose stream it
// arrived, or nil.
func (r *Remote) deliver(to, stream *pendingCall, method string, params []byte) {
	if to == stream {
		to.notify(method, params)
	} else if !to.enqueueStray(inboundMessage{kind: inboundNotification, method: method, params: bytes.Clone(params)}, r.done) {
		r.stats.dropped.Add(1)
	}
}

// handleRequest answers a request of the server by a separate POST.
func (r *Remote) handleRequest(data []byte, env Envelope, pc *pendingCall) {
	in := inboundMessage{method: env.Method, id: bytes.Clone(Bytes(data, env.ID)), params: bytes.Clone(Bytes(data, env.Params))}
	p, err := ScanParams(in.params)
	if err != nil {
		r.refuse(in.id, CodeInvalidParams, "invalid params: "+err.Error())
		return
	}
	if task, related := p.RelatedTaskID(in.params); pc == nil || related && pc.task != task {
		pc = r.callOfRequest(in.params, &p)
	}
	to, parent := r.onRequest, r.ctx
	if pc != nil && pc.sink != nil {
		to, parent = pc.sink.Ask, pc.ctx
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
