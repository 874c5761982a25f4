package shim

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// session is the legacy session with the daemon. All methods are safe for concurrent use.
type session struct {
	mu          sync.Mutex
	id          string
	version     string
	initMessage []byte        // the client's initialize message, also if it failed, to repeat it
	streamEnd   chan struct{} // closed when the stream of the current session must end
	ended       bool

	reopenMu sync.Mutex
}

func (s *session) current() string    { s.mu.Lock(); defer s.mu.Unlock(); return s.id }
func (s *session) negotiated() string { s.mu.Lock(); defer s.mu.Unlock(); return s.version }
func (s *session) isOpen() bool       { return s.current() != "" }

// set sets the current session and returns the channel that is closed when its stream must end,
// or nil if the shim is stopping.
func (s *session) set(id, version string, first []byte) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id, s.version, s.initMessage = id, version, first
	close(s.streamEnd)
	s.streamEnd = make(chan struct{})
	if s.ended {
		return nil
	}
	return s.streamEnd
}

// keep keeps the message of a handshake that failed, for the next request.
func (s *session) keep(first []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == "" {
		s.initMessage = first
	}
}

func (s *session) stopListening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	close(s.streamEnd)
	s.streamEnd = make(chan struct{})
}

// forwardInitialize forwards the legacy handshake and stores what is needed to repeat it.
func (s *Shim) forwardInitialize(ctx context.Context, m message) {
	answer, err := s.handshake(ctx, m)
	s.session.keep(bytes.Clone(m.raw))
	if err != nil {
		s.respondFailure(m, err)
		return
	}
	s.writeMessage(answer)
}

// handshake posts an initialize message and begins the session that the daemon opens, in place of an
// earlier one: SDKs for stdio servers accept a second initialize, too.
func (s *Shim) handshake(ctx context.Context, m message) (answer []byte, err error) {
	resp, err := s.post(ctx, m, "")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if err := readResponse(m, resp, func(data []byte) { answer = data }); err != nil {
		return nil, err
	}
	env, err := wire.Scan(answer)
	if err == nil && env.Result.Empty() {
		err = refusal(bytes.Clone(wire.Bytes(answer, env.Error)))
	}
	if err != nil {
		return nil, err
	}
	result := wire.Bytes(answer, env.Result)
	found, err := wire.Pick(result, "protocolVersion")
	version, _ := wire.Unquote(wire.Bytes(result, found[0]))
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" && err == nil {
		if ends := s.session.set(id, version, bytes.Clone(m.raw)); ends != nil {
			s.running.Go(func() { s.listen(ctx, id, ends) })
		}
	}
	return answer, err
}

// reopen repeats the handshake after the daemon refused the session lost, or without a session the one
// that failed. Concurrent callers share one handshake. A client that had a session is notified that the
// lists may have changed.
func (s *Shim) reopen(ctx context.Context, lost string) error {
	s.session.reopenMu.Lock()
	defer s.session.reopenMu.Unlock()
	s.session.mu.Lock()
	now, first := s.session.id, s.session.initMessage
	s.session.mu.Unlock()
	if now != lost {
		return nil // another goroutine has reopened it
	}
	if first == nil {
		return refusal(wire.ErrorObject(wire.CodeInvalidRequest, "send initialize before any other request", nil))
	}
	m, errorResponse := parseMessage(first)
	if errorResponse != nil {
		return errors.New("cannot parse the stored handshake")
	}
	if _, err := s.handshake(ctx, m); err != nil {
		return err
	}
	if s.session.current() == lost {
		return errSessionLost
	}
	done, _ := parseMessage([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	s.forward(ctx, done)
	if lost == "" {
		return nil
	}
	for _, list := range []string{"tools", "prompts", "resources"} {
		s.writeMessage(wire.AppendNotification(nil, "notifications/"+list+"/list_changed", nil))
	}
	return nil
}

// listen keeps the GET stream of the session open until ends is closed. It carries the
// notifications and requests that belong to no call.
func (s *Shim) listen(parent context.Context, id string, ends <-chan struct{}) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-ends:
			cancel()
		case <-stop:
		}
	}()
	for {
		err := s.stream(ctx, id)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errSessionLost) {
			// In another goroutine, because the stream of the new session replaces this one.
			s.running.Go(func() { _ = s.reopen(parent, id) })
			return
		}
		if errors.Is(err, http.ErrNotSupported) {
			return
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			return
		}
	}
}

// stream opens the GET stream of the session once and reads it to its end. It never starts a
// daemon: an idle client must not restart Drawbridge after the user has quit it.
func (s *Shim) stream(ctx context.Context, id string) error {
	address, err := s.o.Find(ctx, false)
	if err != nil {
		return err
	}
	req, err := s.newRequest(ctx, http.MethodGet, address, nil, id)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return errSessionLost
	case http.StatusMethodNotAllowed:
		return http.ErrNotSupported
	default:
		return fmt.Errorf("Drawbridge responded with status %d", resp.StatusCode)
	}
	return readEvents(resp.Body, func(data []byte) bool {
		if _, err := wire.Scan(data); err == nil {
			s.writeMessage(data)
		}
		return true
	})
}

// closeSession notifies the daemon that the client has disconnected.
func (s *Shim) closeSession() {
	id := s.session.current()
	s.mu.Lock()
	modern := s.modern
	s.mu.Unlock()
	if id == "" && !modern {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	address, err := s.o.Find(ctx, false)
	if err != nil {
		return
	}
	req, err := s.newRequest(ctx, http.MethodDelete, address, nil, id)
	if err != nil {
		return
	}
	if id == "" { // no session: the DELETE only ends the shim
		req.Header.Set("Mcp-Protocol-Version", core.ModernVersion)
	}
	if resp, err := s.http.Do(req); err == nil {
		resp.Body.Close()
	}
}

// cancellableRequest is a request without a response.
type cancellableRequest struct {
	stop    context.CancelFunc
	listens bool // it is answered only when the daemon stops
	sent    bool // sent to the daemon, or about to be; guarded by Shim.mu
}

// startRequest runs a request in a goroutine. If maxInFlight requests are in flight it waits for a
// slot there, so that later messages are not blocked: they may be responses or cancellations that
// the requests in flight wait for.
func (s *Shim) startRequest(ctx context.Context, m message) {
	id := string(wire.Bytes(m.raw, m.env.ID))
	requestCtx, stop := context.WithCancel(ctx)
	p := &cancellableRequest{stop: stop, listens: m.env.Method == "subscriptions/listen"}
	s.mu.Lock()
	if s.pendingCount == maxPending || s.pendingCount > 0 && s.pendingBytes+len(m.raw) > maxPendingBytes {
		s.mu.Unlock()
		stop()
		s.respondError(m, wire.CodeInternal, "cannot accept the request: too many requests are pending. Send it again when some of them have finished")
		return
	}
	s.modern = s.modern || m.modern
	s.pending[id] = p
	s.pendingCount++
	s.pendingBytes += len(m.raw)
	s.mu.Unlock()
	s.running.Go(func() {
		defer s.endRequest(id, p, len(m.raw))
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-requestCtx.Done():
			return
		}
		s.mu.Lock()
		p.sent = requestCtx.Err() == nil
		s.mu.Unlock()
		if p.sent {
			s.forwardRequest(requestCtx, m)
		}
	})
}

func (s *Shim) endRequest(id string, p *cancellableRequest, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending[id] == p {
		delete(s.pending, id)
	}
	s.pendingCount--
	s.pendingBytes -= size
	p.stop()
}

// stopListening cancels the requests subscriptions/listen.
func (s *Shim) stopListening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pending {
		if p.listens {
			p.stop()
		}
	}
}

// cancelRequest handles notifications/cancelled and reports whether it need not be forwarded. For a
// legacy request that was sent, it must be forwarded, because the daemon cancels the request.
func (s *Shim) cancelRequest(m message) bool {
	legacy := s.session.isOpen()
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pending[string(wire.Bytes(m.params, m.spans.RequestID))]
	if p == nil || p.sent && legacy {
		return !legacy
	}
	p.stop() // closing the response cancels a modern request
	return true
}

// What is kept of the beginning and of the end of a line that exceeds the maximum message size.
const (
	maxHead = 16 << 10
)

// readMessages sends every non-empty line of in to messages; the receiver owns its memory. A line
// that exceeds the maximum message size is skipped, and oversized is called with the id of its
// request, which is nil if it is not found. It returns nil at the end of in.
func readMessages(ctx context.Context, in io.Reader, messages chan<- []byte, oversized func(id []byte)) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var line, tail []byte
	skipping, answered := false, false
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case skipping:
			tail = wire.AppendTail(tail, part)
		case len(line)+len(part) > wire.DefaultMaxMessage:
			skipping = true
			if id := wire.RequestID(line, nil); id != nil {
				answered = true
				oversized(id)
			}
			tail = wire.AppendTail(wire.AppendTail(nil, line), part)
			line = bytes.Clone(line[:min(len(line), maxHead)])
		default:
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if skipping {
			if !answered {
				oversized(wire.RequestID(line, tail))
			}
			line = nil
		}
		if msg := bytes.TrimSpace(line); len(msg) > 0 {
			select {
			case messages <- msg:
			case <-ctx.Done():
				return nil
			}
		}
		line, tail, skipping, answered = nil, nil, false, false
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readEvents calls each with the data of every server-sent event in r, until each returns false or
// r ends.
func readEvents(r io.Reader, each func(data []byte) bool) error {
	events := wire.NewEventReader(r, wire.DefaultMaxMessage)
	for {
		ev, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(ev.Data) > 0 && !each(ev.Data):
			return nil
		}
	}
}
