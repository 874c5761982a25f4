package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Delays before a stream is reopened.
const (
	streamBackoff    = time.Second
	maxStreamBackoff = time.Minute
	maxRetry         = 30 * time.Second // upper limit for the retry field of a server
	minRetry         = 50 * time.Millisecond
)

// maxResumes is the number of consecutive times that a stream is reopened without an event.
const maxResumes = 5

// maxEventID is the maximum length of an event id that is used for resuming.
const maxEventID = 1 << 10

// resumption is the state for resuming a stream.
type resumption struct {
	last  string        // id of its last event; "" if the server sends none
	wait  time.Duration // delay before reopening
	empty int           // consecutive streams without an event
}

func (p *resumption) note(ev sseEvent) {
	switch {
	case len(ev.id) > maxEventID:
		p.last = "" // it would be sent as a header
	case ev.id != "" && !strings.ContainsAny(ev.id, "\r\n\x00"):
		p.last = ev.id
	}
	if ev.retry > 0 {
		p.wait = min(max(ev.retry, minRetry), maxRetry)
	}
	p.empty = 0
}

var errNoResumption = errors.New("the server offers no resumption")

// resume reopens a stream that ended early, after its last event.
func (r *Remote) resume(ctx context.Context, place *resumption) (io.ReadCloser, error) {
	r.mu.Lock()
	legacy := r.era == core.Legacy
	r.mu.Unlock()
	for {
		if place.last == "" || !legacy || place.empty >= maxResumes {
			return nil, errNoResumption
		}
		place.empty++
		if !r.pause(ctx, place.wait) {
			return nil, context.Cause(ctx)
		}
		resp, err := r.get(ctx, place.last)
		switch {
		case err != nil:
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		case resp.StatusCode == http.StatusOK && mediaType(resp) == "text/event-stream":
			return resp.Body, nil
		default:
			resp.Body.Close()
			if resp.StatusCode < 500 {
				return nil, r.status(resp)
			}
		}
	}
}

func (r *Remote) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-r.done:
	}
	return false
}

// get opens an event stream after the event with the id last.
func (r *Remote) get(ctx context.Context, last string) (*http.Response, error) {
	req, err := r.request(ctx, http.MethodGet, nil, false)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-Id", last)
	}
	return r.o.do(r.http, req, nil)
}

// Run keeps the GET stream for notifications of a legacy server open until the connection ends.
// Modern servers use subscriptions/listen instead, and a legacy server need not offer the stream.
func (r *Remote) Run() error {
	select {
	case <-r.ready:
	case <-r.done:
		return r.Err()
	}
	backoff := streamBackoff
	var place resumption
	for {
		began := time.Now()
		if !r.announcements(&place) {
			<-r.done
			return r.Err()
		}
		if time.Since(began) > maxStreamBackoff {
			backoff = streamBackoff
		}
		wait := backoff
		if place.wait > 0 && place.empty == 0 {
			wait, backoff = place.wait, streamBackoff // as the server requested, as long as events arrive
		}
		if !r.pause(r.ctx, wait) {
			return r.Err()
		}
		backoff = min(2*backoff, maxStreamBackoff)
	}
}

// Listening returns a channel that is closed when the notification stream is open or known to be
// missing. Requests that a legacy server sends before that may be lost.
func (r *Remote) Listening() <-chan struct{} { return r.asked }

// announcements reads one GET stream to its end and reports whether to open another one.
func (r *Remote) announcements(place *resumption) (again bool) {
	place.empty++
	resp, err := r.get(r.ctx, place.last)
	r.askedOne.Do(func() { close(r.asked) })
	if err != nil {
		return true
	}
	defer resp.Body.Close()
	if session := lostSession(resp); session != "" && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone || resp.StatusCode == http.StatusBadRequest) {
		// Servers without this stream send the same response.
		if !r.sessionUnknown(r.ctx, session) {
			return false
		}
		*place = resumption{}
		return r.replaceSession(r.ctx, session) == nil
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream" {
		r.o.Log.Debug("Server has no stream of announcements", "server", r.o.Server, "status", strconv.Itoa(resp.StatusCode))
		return resp.StatusCode >= 500
	}
	events := newEventReader(resp.Body, r.o.MaxMessage)
	for {
		ev, err := events.next()
		if err != nil {
			return true
		}
		place.note(ev)
		if len(ev.data) == 0 {
			continue
		}
		data, env, _, err := r.scan(ev.data)
		if err != nil {
			r.junk(ev.data, err.Error())
			continue
		}
		if env.Kind == Response {
			r.stats.late.Add(1)
			continue
		}
		r.inbound(r.ctx, data, env, nil)
	}
}
