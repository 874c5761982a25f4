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

// stream reads the events of one call until its reply. It calls the sink directly, so that a slow
// sink slows only this stream. If a legacy server that sends event ids ends the stream early, it
// is resumed after the last event.
func (r *Remote) stream(ctx context.Context, body io.Reader, f *flight) (core.Reply, error) {
	place := resumption{wait: streamBackoff}
	reply, done, err := r.events(ctx, body, f, &place)
	for !done {
		again, cause := r.resume(ctx, &place)
		if cause != nil {
			return core.Reply{}, r.broken("no reply before its stream ended", errors.Join(err, cause))
		}
		reply, done, err = r.events(ctx, again, f, &place)
		again.Close()
	}
	return reply, err
}

// events reads one stream of a call. When it ends without the reply, done is false.
func (r *Remote) events(ctx context.Context, body io.Reader, f *flight, place *resumption) (reply core.Reply, done bool, err error) {
	events := newEventReader(body, r.o.MaxMessage)
	for {
		ev, err := events.next()
		switch {
		case errors.Is(err, errEventTooLarge):
			return core.Reply{}, true, core.Errorf(core.CodeUnavailable, "result of server %q is larger than the limit of %d bytes", r.o.Server, r.o.MaxMessage)
		case err != nil:
			return core.Reply{}, false, err
		}
		place.note(ev)
		if len(ev.data) == 0 {
			continue
		}
		data, env, repaired, err := r.scan(ev.data)
		if err != nil {
			r.junk(ev.data, err.Error())
			continue
		}
		if env.Kind == Response {
			id, ok := Int(data, env.ID)
			if !ok || id != f.id {
				r.stats.late.Add(1)
				continue
			}
			reply, ok, err := r.replyIn(data, env, repaired, f.id, http.StatusOK)
			if ok || err != nil {
				return reply, true, err
			}
			return core.Reply{}, true, core.Errorf(core.CodeUnavailable, "server %q answered with neither result nor error", r.o.Server)
		}
		r.inbound(ctx, data, env, f)
	}
}

// inbound handles a notification or request of the server. f is the call on whose stream it arrived,
// or nil.
func (r *Remote) inbound(ctx context.Context, data []byte, env Envelope, f *flight) {
	params := Bytes(data, env.Params)
	switch env.Kind {
	case Request:
		r.requested(ctx, data, env, f)
		return
	case Notification:
	default:
		r.junk(data, "not a JSON-RPC message")
		return
	}
	switch env.Method {
	case "notifications/progress":
		p, err := ScanParams(params)
		if err != nil {
			r.junk(data, err.Error())
			return
		}
		if f == nil || string(Bytes(params, p.Progress)) != `"`+f.key+`"` || f.sink == nil {
			r.stats.late.Add(1)
			return
		}
		f.sink.Notify(env.Method, Splice(nil, params, Edit{Span: p.Progress, With: f.token}))
		return
	case "notifications/cancelled":
		if p, err := ScanParams(params); err == nil {
			r.asks.cancel(string(Bytes(params, p.RequestID)))
		}
		return
	case "notifications/message":
		if f != nil && f.sink != nil {
			f.sink.Notify(env.Method, params)
		}
	}
	if r.o.OnNotification != nil && r.allow() {
		r.o.OnNotification(env.Method, params)
	}
}

// requested answers a request of the server by a separate POST.
func (r *Remote) requested(ctx context.Context, data []byte, env Envelope, f *flight) {
	id := bytes.Clone(Bytes(data, env.ID))
	if env.Method == "ping" {
		r.answerSoon(AppendResult(nil, id, []byte("{}")))
		return
	}
	to := asker(r.o.OnRequest)
	if f == nil {
		f = r.onlyFlight()
	}
	if f != nil && f.sink != nil {
		to = f.sink.Ask
	} else {
		ctx = r.ctx
	}
	if to == nil {
		r.answerSoon(AppendError(nil, id, CodeRefused, "no client to ask: the request belongs to no call, or to one of several", nil))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	if !r.asks.reserve(string(id)) || !r.asks.begin(string(id), cancel) {
		cancel()
		r.stats.dropped.Add(1)
		r.answerSoon(AppendError(nil, id, CodeRefused, "too many requests", nil))
		return
	}
	params := bytes.Clone(Bytes(data, env.Params))
	go func() {
		defer r.asks.wg.Done()
		defer cancel()
		reply, err := to(ctx, env.Method, params)
		if !r.asks.end(string(id)) {
			return
		}
		switch {
		case err != nil:
			message, _ := core.Describe(err)
			r.answer(AppendError(nil, id, CodeRefused, message, nil))
		case len(reply.Error) > 0:
			r.answer(AppendErrorObject(nil, id, oneLine(reply.Error)))
		default:
			r.answer(AppendResult(nil, id, oneLine(reply.Result)))
		}
	}()
}

// answerSoon posts a response from another goroutine. A server that sends requests faster than it
// accepts responses loses some.
func (r *Remote) answerSoon(body []byte) {
	if !r.asks.spawn(func() { r.answer(body) }) {
		r.stats.dropped.Add(1)
	}
}

// answer posts a response; errors are ignored, because the server retries or gives up.
func (r *Remote) answer(body []byte) {
	ctx, cancel := context.WithTimeout(r.ctx, 10*closeLimit)
	defer cancel()
	if err := r.send(ctx, "", body); err != nil {
		r.o.Log.Debug("Cannot answer a request of the server", "server", r.o.Server, "error", err)
	}
}

func (r *Remote) onlyFlight() *flight {
	r.mu.Lock()
	defer r.mu.Unlock()
	var only *flight
	for _, f := range r.flights {
		if f.sink != nil && only != nil {
			return nil
		} else if f.sink != nil {
			only = f
		}
	}
	return only
}

func (r *Remote) allow() bool {
	ok, first := r.flood.allow(time.Now())
	if !ok {
		r.stats.dropped.Add(1)
	}
	if first {
		r.o.Log.Warn("Server floods us; what is too much is dropped", "server", r.o.Server)
	}
	return ok
}

func (r *Remote) junk(line []byte, reason string) {
	r.stats.junk.Add(1)
	if r.o.OnJunk != nil && r.allow() {
		r.o.OnJunk(line[:min(len(line), 512)], reason)
	}
}
