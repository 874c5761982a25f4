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
	maxRetryDelay    = 30 * time.Second // upper limit for the retry field of a server
	minRetryDelay    = 50 * time.Millisecond
)

// maxResumes is the number of consecutive times that a stream is reopened without an event.
const maxResumes = 5

// maxEventID is the maximum length of an event id that is used for resuming.
const maxEventID = 1 << 10

// resumption is the state for resuming a stream.
type resumption struct {
	lastEventID  string        // id of its last event; "" if the server sends none
	delay        time.Duration // delay before reopening
	emptyStreams int           // consecutive streams without an event
}

func (p *resumption) record(ev Event) {
	switch {
	case len(ev.ID) > maxEventID:
		p.lastEventID = "" // it would be sent as a header
	case ev.ID != "" && !strings.ContainsAny(ev.ID, "\r\n\x00"):
		p.lastEventID = ev.ID
	}
	if ev.Retry > 0 {
		p.delay = min(max(ev.Retry, minRetryDelay), maxRetryDelay)
	}
	p.emptyStreams = 0
}

var errNoResumption = errors.New("the server does not support resuming streams")

// resume reopens a stream that ended early, after its last event.
func (r *Remote) resume(ctx context.Context, place *resumption) (io.ReadCloser, error) {
	r.mu.Lock()
	legacy := r.era == core.Legacy
	r.mu.Unlock()
	for {
		if place.lastEventID == "" || !legacy || place.emptyStreams >= maxResumes {
			return nil, errNoResumption
		}
		place.emptyStreams++
		if !r.sleep(ctx, place.delay) {
			return nil, context.Cause(ctx)
		}
		resp, err := r.openStream(ctx, place.lastEventID)
		switch {
		case err != nil:
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		case succeeded(resp) && mediaType(resp) == "text/event-stream":
			return resp.Body, nil
		default:
			resp.Body.Close()
			if resp.StatusCode < 500 {
				return nil, r.statusError(resp)
			}
		}
	}
}

func (r *Remote) sleep(ctx context.Context, d time.Duration) bool {
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

// openStream opens an event stream after the event with the id last.
func (r *Remote) openStream(ctx context.Context, last string) (*http.Response, error) {
	req, err := r.newRequest(ctx, http.MethodGet, nil, false)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-Id", last)
	}
	return r.o.doTraced(r.http, req, nil)
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
		if !r.readNotifications(&place) {
			<-r.done
			return r.Err()
		}
		if time.Since(began) > maxStreamBackoff {
			backoff = streamBackoff
		}
		wait := backoff
		if place.delay > 0 && place.emptyStreams == 0 {
			wait, backoff = place.delay, streamBackoff // as the server requested, as long as events arrive
		}
		if !r.sleep(r.ctx, wait) {
			return r.Err()
		}
		backoff = min(2*backoff, maxStreamBackoff)
	}
}

// Listening returns a channel that is closed when the notification stream is open or known to be
// missing. Requests that a legacy server sends before that may be lost.
func (r *Remote) Listening() <-chan struct{} { return r.listening }

// readNotifications reads one GET stream to its end and reports whether to open another one.
func (r *Remote) readNotifications(place *resumption) (again bool) {
	place.emptyStreams++
	resp, err := r.openStream(r.ctx, place.lastEventID)
	r.listeningOnce.Do(func() { close(r.listening) })
	if err != nil {
		return true
	}
	defer resp.Body.Close()
	if session := sessionIDOf(resp); session != "" && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone || resp.StatusCode == http.StatusBadRequest) {
		// Servers without this stream send the same response.
		if !r.isSessionUnknown(r.ctx, session) {
			return false
		}
		*place = resumption{}
		return r.replaceSession(r.ctx, session) == nil
	}
	if !succeeded(resp) || mediaType(resp) != "text/event-stream" {
		r.o.Log.Debug("Server does not offer a notification stream", "server", r.o.Server, "status", strconv.Itoa(resp.StatusCode))
		return resp.StatusCode >= 500
	}
	r.streamOpen.Store(true)
	defer r.streamOpen.Store(false)
	events := NewEventReader(resp.Body, r.o.MaxMessage)
	for {
		ev, err := events.Next()
		if err != nil {
			return true
		}
		place.record(ev)
		if len(ev.Data) == 0 {
			continue
		}
		err = r.eachMessage(ev.Data, func(data []byte, env Envelope, repaired bool) {
			if env.Kind != Response {
				r.handleInbound(data, env, nil)
			} else if !r.completeStray(data, env, repaired) {
				r.stats.late.Add(1)
			}
		})
		if err != nil {
			r.reportJunk(ev.Data, err.Error())
		}
	}
}
