package wire

import (
	"bytes"
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// UnusableOutputError is the error of a call that reached its time limit, if the server has sent
// meanwhile what may have been the reply but could not be used: a response with an unknown id, or
// JSON that is not a message.
type UnusableOutputError struct {
	Problem string // such as: it sent a response with the id "1", which no request has
	Hint    string // what to do, a full sentence
	Cause   error  // why the call ended
}

func (e *UnusableOutputError) Error() string { return e.Problem }

func (e *UnusableOutputError) Unwrap() error { return e.Cause }

// maxShownID is the number of bytes of an id that are shown.
const maxShownID = 40

// unusableOutput is the last output of the server that may have been a reply. The zero value means
// that there was none.
type unusableOutput struct {
	lastCall int64  // id of the newest call at that time
	response string // describeResponse; "" if it was not a response
}

// during reports whether the output came after the call with this id had been sent.
func (u *unusableOutput) during(call int64) bool { return call > 0 && u.lastCall >= call }

// explain adds to the cause of the end of a call what the server sent instead of its reply. It
// returns cause if the call was not ended by a time limit.
func (u *unusableOutput) explain(cause error) error {
	switch {
	case core.CodeOf(cause) != core.CodeTimeout:
		return cause
	case u.response != "":
		return &UnusableOutputError{
			Problem: "it sent " + u.response,
			Hint:    "Correct the server: a response must have the id of its request, unchanged and of the same type.",
			Cause:   cause,
		}
	}
	return &UnusableOutputError{
		Problem: "it sent JSON that is not a message",
		Hint:    "Correct the server: each message must be one JSON object on one line. Its log shows what it sent.",
		Cause:   cause,
	}
}

// describeResponse describes a response to no request by its id.
func describeResponse(data []byte, id core.Span) string {
	raw := Bytes(data, id)
	if len(raw) == 0 {
		return "a response without an id"
	}
	shown := string(raw)
	if len(raw) > maxShownID {
		shown = string(bytes.ToValidUTF8(raw[:maxShownID], nil)) + "…"
	}
	return "a response with the id " + shown + ", which no request has"
}

// looksLikeMessage reports whether a line that is not a message may be one that was written in the
// wrong form: over several lines, as an array, or cut. Text for people does not look like it.
func looksLikeMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' && line[0] != '[' {
		return false
	}
	rest := bytes.TrimSpace(line[1:])
	return len(rest) == 0 || rest[0] == '{' || line[0] == '{' && rest[0] == '"'
}

// reportUnmatched logs a response that belongs to no call, pending or earlier.
func (s *serverMessages) reportUnmatched(response string) {
	s.stats.late.Add(1)
	if s.onJunk != nil && s.allowMessage() {
		s.onJunk([]byte(response), "not a reply")
	}
}

// recordUnmatched handles a response that belongs to no call, pending or earlier.
func (m *Mux) recordUnmatched(data []byte, id core.Span) {
	response := describeResponse(data, id)
	m.recordUnusable(response)
	m.reportUnmatched(response)
}

// recordUnusable records output that may have been a reply; see unusableOutput.
func (m *Mux) recordUnusable(response string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unusable = unusableOutput{m.nextID.Load(), response}
}

// endedError is the error of a call whose context has ended before its reply arrived.
func (m *Mux) endedError(ctx context.Context, call int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.unusable.during(call) {
		return context.Cause(ctx)
	}
	return m.unusable.explain(context.Cause(ctx))
}

// recordUnmatched handles a response on the stream of pc that does not belong to pc.
func (r *Remote) recordUnmatched(data []byte, id core.Span, pc *pendingCall) {
	if n, _, ok := replyID(Bytes(data, id)); ok && n > 0 && n <= r.nextID.Load() {
		r.stats.late.Add(1)
		return
	}
	response := describeResponse(data, id)
	pc.unusable = unusableOutput{pc.id, response}
	r.reportUnmatched(response)
}

// noReplyError is the error of a call whose stream has ended without its reply.
func (r *Remote) noReplyError(pc *pendingCall, cause error) error {
	if pc.unusable.response != "" {
		return r.invalidMessageError(pc.unusable.response, cause)
	}
	return r.invalidMessageError("no reply before its stream ended", cause)
}
