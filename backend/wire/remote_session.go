package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

var errSessionLost = errors.New("the server has lost the session")

func sessionIDOf(resp *http.Response) string { return resp.Request.Header.Get("Mcp-Session-Id") }

const (
	maxRefusalBody = 64 << 10        // bytes of an error response that are read to find the reason
	probeTimeout   = 5 * time.Second // of the ping that checks whether the session still exists
)

// isSessionRefused reports whether resp means that the session of the request is unknown: 404, 410,
// or 400 with an error that mentions the session. An ambiguous 400 is decided by a ping in the same
// session.
//
// Each of these comes from the HTTP layer, which looks up the session before it forwards the
// message: the request had no effect and may be sent again.
func (r *Remote) isSessionRefused(ctx context.Context, resp *http.Response, id int64) bool {
	if sessionIDOf(resp) == "" {
		return false
	}
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return true
	case http.StatusBadRequest:
	default:
		return false
	}
	text := peekBody(resp)
	env, err := Scan(text)
	answered := false // the server read the request, and this is its response
	if err == nil && env.Kind == Response {
		got, _, ok := replyID(Bytes(text, env.ID))
		answered = ok && got == id
	}
	switch named := mentionsSession(text); {
	case named && !answered:
		return true
	case answered && !named:
		return false
	}
	return r.isSessionUnknown(ctx, sessionIDOf(resp))
}

// isSessionUnknown checks by a ping whether the server still knows session. A ping has no effect,
// so any refusal counts.
func (r *Remote) isSessionUnknown(ctx context.Context, session string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	pc := newPendingCall(r.nextID.Add(1), "", nil, nil)
	resp, err := r.post(ctx, "ping", nil, appendCall(nil, pc.id, "ping", nil, nil), nil)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if sessionIDOf(resp) != session { // replaced meanwhile
		return true
	}
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusGone:
		return true
	}
	var reply core.Reply
	if mediaType(resp) == "text/event-stream" {
		reply, err = r.readStream(ctx, resp.Body, pc)
	} else {
		reply, _, err = r.parseReply(peekBody(resp), pc, succeeded(resp))
	}
	return err == nil && mentionsSession(reply.Error)
}

// peekBody reads the beginning of a body without consuming it.
func peekBody(resp *http.Response) []byte {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusalBody))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), resp.Body), resp.Body}
	return text
}

func mentionsSession(text []byte) bool {
	return bytes.Contains(bytes.ToLower(text[:min(len(text), maxRefusalBody)]), []byte("session"))
}

// isRepeatable reports whether a request may be sent twice: of all methods, only tools/call may
// have side effects.
func isRepeatable(method string) bool { return method != "tools/call" }

// replaceSession opens a new session in place of lost. Its error is the error of the request.
func (r *Remote) replaceSession(ctx context.Context, lost string) error {
	err := r.renew(ctx, lost)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil: // the deadline of this caller passed; the next one tries again
		return context.Cause(ctx)
	}
	r.fail(err)
	return context.Cause(r.ctx)
}

// renewTimeout is the time limit for replacing a session: the notification stream may trigger it
// without a deadline, and all calls wait for it.
const renewTimeout = 30 * time.Second

// renew opens a new session in place of lost, unless another goroutine has done so meanwhile.
func (r *Remote) renew(ctx context.Context, lost string) error {
	select {
	case r.renewing <- struct{}{}:
		defer func() { <-r.renewing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.mu.Lock()
	hello, version, now := r.initializeParams, r.version, r.session
	r.mu.Unlock()
	if now != lost {
		return nil
	}
	if hello == nil {
		return errSessionLost
	}
	r.o.Log.Info("Server has lost the session; opening a new one", "server", r.o.Server)
	ctx = core.WithReadmitter(ctx, nil) // the session is for all calls
	ctx, cancel := context.WithTimeoutCause(ctx, r.renewTimeout, fmt.Errorf("it did not respond within %s", r.renewTimeout))
	defer cancel()
	pc := newPendingCall(r.nextID.Add(1), "", nil, nil)
	reply, err := r.exchange(ctx, pc, "initialize", hello, appendCall(nil, pc.id, "initialize", hello, nil), nil)
	if err != nil {
		return fmt.Errorf("%w, and no new one could be opened: %w", errSessionLost, err)
	}
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(reply.Result, &result) != nil || result.ProtocolVersion != version {
		return fmt.Errorf("%w, and it now uses another protocol version", errSessionLost)
	}
	resp, err := r.post(ctx, "", nil, AppendNotification(nil, "notifications/initialized", nil), nil)
	if err != nil {
		return err
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 512)
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%w, and it rejected a new one: %w", errSessionLost, r.statusError(resp))
	}
	if r.o.OnSessionReplaced != nil {
		r.o.OnSessionReplaced()
	}
	return nil
}

// isNewSessionRefused reports whether a just opened session is refused. A 400 that does not mention
// the session is the response to the request.
func isNewSessionRefused(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return sessionIDOf(resp) != ""
	case http.StatusBadRequest:
		return sessionIDOf(resp) != "" && mentionsSession(peekBody(resp))
	}
	return false
}

// unusableSessionError is the error of a request that was refused in two sessions.
func (r *Remote) unusableSessionError() error {
	return &core.Error{Code: core.CodeUnavailable, Retriable: true, Unsent: true, Cause: errSessionLost,
		Message: fmt.Sprintf("server %q rejected the session that it had just created", r.o.Server),
		Hint:    "Try again. If the error persists, several server instances probably share this url without sharing their sessions."}
}

// lostSessionError is the error of a call that may have been executed before its session was lost.
func (r *Remote) lostSessionError() error {
	return &core.Error{Code: core.CodeUnavailable, Retriable: true, Cause: errSessionLost,
		Message: fmt.Sprintf("server %q has lost the session; it is unknown whether the call was executed", r.o.Server),
		Hint:    "A new session is open. Check whether the call had an effect before you repeat it."}
}
