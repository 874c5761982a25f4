package shim

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// errNotSent, in the chain of an error, means that the message did not reach the daemon.
var errNotSent = errors.New("the daemon is not reachable")

// errSessionLost means that the daemon does not know the session: it was restarted, or the session
// was idle for too long. The message was not processed.
var errSessionLost = errors.New("the session no longer exists")

// refusal is the error object with which the daemon refused a handshake.
type refusal []byte

func (r refusal) Error() string { return "the handshake was refused" }

// forwardRequest forwards a request and its response. It opens a session that is lost, or was refused, up
// to three times.
func (s *Shim) forwardRequest(ctx context.Context, m message) {
	for tries := 0; ; tries++ {
		session, err := s.session.current(), errSessionLost
		if session != "" || m.modern || m.env.Method == "ping" { // only these need no session
			err = s.exchange(ctx, m, session)
		}
		if errors.Is(err, errSessionLost) && tries < 3 {
			if err = s.reopen(ctx, session); err == nil {
				continue
			}
		}
		if err != nil && ctx.Err() == nil {
			s.respondFailure(m, err)
		}
		return
	}
}

// respondFailure responds with the reason why a request could not be forwarded.
func (s *Shim) respondFailure(m message, err error) {
	if object, refused := errors.AsType[refusal](err); refused {
		s.writeMessage(wire.AppendErrorObject(nil, wire.Bytes(m.raw, m.env.ID), object))
		return
	}
	s.respondError(m, wire.CodeInternal, errorText(err))
}

// forward forwards a message without a response: a notification or a response of the client.
func (s *Shim) forward(ctx context.Context, m message) {
	ctx, cancel := context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	resp, err := s.post(ctx, m, s.session.current())
	if err != nil {
		s.o.Log.Warn("Cannot forward a message", "method", m.env.Method, "error", err)
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	resp.Body.Close()
}

// exchange posts a request and writes all messages of the HTTP response to the client.
func (s *Shim) exchange(ctx context.Context, m message, session string) error {
	resp, err := s.post(ctx, m, session)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound && session != "" {
		return errSessionLost
	}
	return readResponse(m, resp, s.writeMessage)
}

// readResponse passes the messages of an HTTP response to each. The last one is the response to m;
// readResponse fails if there is none.
func readResponse(m message, resp *http.Response, each func(data []byte)) error {
	if !isStream(resp) {
		body, err := io.ReadAll(io.LimitReader(resp.Body, wire.DefaultMaxMessage+1))
		if err != nil {
			return fmt.Errorf("the connection to Drawbridge was lost: %w", err)
		}
		if env, err := wire.Scan(body); err == nil && env.Kind == wire.Response {
			each(withID(m, body, env))
			return nil
		}
		if resp.StatusCode == http.StatusUnauthorized {
			return &core.Error{Code: core.CodeUnauthorized, Message: "Drawbridge does not accept this client's access token", Hint: "Connect the client again: drawbridge clients connect. For a guest, run on its host: drawbridge guests."}
		}
		return fmt.Errorf("Drawbridge responded with status %d", resp.StatusCode)
	}
	answered := false
	err := readEvents(resp.Body, func(data []byte) bool {
		env, err := wire.Scan(data)
		if err != nil {
			return true
		}
		answered = answered || env.Kind == wire.Response && bytes.Equal(wire.Bytes(data, env.ID), wire.Bytes(m.raw, m.env.ID))
		each(data)
		return !answered
	})
	if answered {
		return nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("the connection to Drawbridge was lost in the middle of the call: %w", err)
}

func isStream(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}

// withID adds the id of the request to an error response without an id.
func withID(m message, body []byte, env wire.Envelope) []byte {
	if id := wire.Bytes(body, env.ID); len(id) > 0 && !bytes.Equal(id, []byte("null")) {
		return body
	}
	if env.Error.Empty() {
		return body
	}
	return wire.AppendErrorObject(nil, wire.Bytes(m.raw, m.env.ID), wire.Bytes(body, env.Error))
}

// post sends a message, and waits for a daemon that is not running yet. A message is sent again
// only if it certainly did not reach the daemon.
func (s *Shim) post(ctx context.Context, m message, session string) (*http.Response, error) {
	wait, cancel := context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	refreshed := false
	for {
		address, err := s.resolveAddress(wait)
		if err != nil {
			return nil, err
		}
		req, err := s.newPost(ctx, address, m, session)
		if err != nil {
			return nil, err
		}
		resp, err := s.http.Do(req)
		if err == nil && resp.StatusCode == http.StatusForbidden && !refreshed {
			// The daemon was restarted with another port, and the connection reached it through its
			// socket. It has not processed the message.
			s.forgetAddress(address)
			refreshed = true
			if now, err := s.resolveAddress(wait); err == nil && now != address {
				resp.Body.Close()
				continue
			}
		}
		if err == nil {
			return resp, nil
		}
		if opErr, ok := errors.AsType[*net.OpError](err); !ok || opErr.Op != "dial" || errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("the connection to Drawbridge was lost: %w", err)
		}
		s.forgetAddress(address)
		select {
		case <-time.After(retryInterval):
		case <-wait.Done():
			return nil, fmt.Errorf("%w: %w", errNotSent, err)
		}
	}
}

// newRequest creates a request of a session; session may be "".
func (s *Shim) newRequest(ctx context.Context, method string, address Address, body []byte, session string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, address.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+address.Token)
	req.Header.Set("X-Drawbridge-Shim", s.o.ID)
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
		req.Header.Set("Mcp-Protocol-Version", s.session.negotiated())
	}
	return req, nil
}

func (s *Shim) newPost(ctx context.Context, address Address, m message, session string) (*http.Request, error) {
	if m.modern {
		session = ""
	}
	req, err := s.newRequest(ctx, http.MethodPost, address, m.raw, session)
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	if s.o.Dir != "" {
		h.Set("X-Drawbridge-Workspace", base64.RawURLEncoding.EncodeToString([]byte(s.o.Dir)))
	}
	if m.modern {
		version, _ := wire.Unquote(wire.Bytes(m.params, m.spans.ProtocolVersion))
		h.Set("Mcp-Protocol-Version", version)
		h.Set("Mcp-Method", m.env.Method)
		if name := wire.NameHeaderValue(m.env.Method, m.params, &m.spans); name != "" {
			h.Set("Mcp-Name", wire.HeaderValue(name))
		}
	}
	return req, nil
}

// resolveAddress returns the cached address of the daemon, or finds it.
func (s *Shim) resolveAddress(ctx context.Context) (Address, error) {
	s.mu.Lock()
	address := s.address
	s.mu.Unlock()
	if address.URL != "" {
		return address, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // give up drainTimeout after the client has closed stdin
		select {
		case <-s.ended:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(drainTimeout):
			cancel()
		case <-ctx.Done():
		}
	}()
	address, err := s.o.Find(ctx, true)
	if err != nil {
		return Address{}, err
	}
	s.mu.Lock()
	s.address = address
	s.mu.Unlock()
	return address, nil
}

func (s *Shim) forgetAddress(address Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.address == address {
		s.address = Address{}
	}
}
