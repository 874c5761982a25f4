package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Framing is how messages are told apart on a pipe.
type Framing string

const (
	// Auto reads both kinds, message by message, and writes lines until the server
	// has sent a Content-Length header.
	Auto          Framing = "auto"
	NDJSON        Framing = "ndjson"         // one message per line, as MCP says
	ContentLength Framing = "content-length" // headers as in the Language Server Protocol
)

// DefaultMaxMessage is the size of the largest message we take, in bytes.
const DefaultMaxMessage = 16 << 20

// MaxRequest is the size of the largest message that the bridge takes from a client, in bytes.
const MaxRequest = 4 << 20

// endlessLineFactor times the largest message is what one line may hold altogether
// before we stop looking for its end.
const endlessLineFactor = 16

const (
	readBuffer = 64 << 10
	keepHead   = 16 << 10 // of an oversized message, to find whose it is
	keepTail   = 256
)

var errEndlessLine = errors.New("the server sent a message that is far larger than the limit")

type frame struct {
	data []byte // without the line end; valid until the next read unless owned
	// owned means that data is not reused and may be retained.
	owned bool
	// hasContentLength: it came with a Content-Length header.
	hasContentLength bool
	// size is the full size; it is larger than len(data) when the message was
	// larger than the limit. Then data is its head and tail its end.
	size int64
	tail []byte
}

func (f *frame) oversized() bool { return f.size > int64(len(f.data)) }

// lineReader splits a stream into messages. It holds at most the limit of one
// message; what exceeds that is skipped up to the next line end.
type lineReader struct {
	r       *bufio.Reader
	framing Framing
	limit   int
	started bool
}

func newLineReader(r io.Reader, framing Framing, limit int) *lineReader {
	if limit <= 0 {
		limit = DefaultMaxMessage
	}
	return &lineReader{r: bufio.NewReaderSize(r, readBuffer), framing: framing, limit: limit}
}

// next returns the next message or line of junk that is not empty. At the end of
// the stream it returns what is left, then io.EOF.
func (l *lineReader) next() (frame, error) {
	for {
		f, err := l.line()
		if err != nil && len(f.data) == 0 {
			return frame{}, err
		}
		if !l.started {
			l.started = true
			if rest, ok := bytes.CutPrefix(f.data, byteOrderMark); ok {
				f.size -= int64(len(f.data) - len(rest))
				f.data = rest
			}
		}
		if f.oversized() {
			return f, nil
		}
		f.data = bytes.TrimRight(f.data, "\r\n")
		if l.framing != NDJSON {
			if n, ok := contentLength(f.data); ok {
				return l.body(n)
			}
		}
		f.size = int64(len(f.data))
		if len(bytes.TrimSpace(f.data)) > 0 {
			return f, nil
		}
	}
}

// line reads up to and with the next line feed.
func (l *lineReader) line() (frame, error) {
	part, err := l.r.ReadSlice('\n')
	if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
		return frame{data: part, size: int64(len(part))}, err
	}
	return l.longLine(part, err)
}

// longLine goes on with a line that is longer than the read buffer.
func (l *lineReader) longLine(part []byte, err error) (frame, error) {
	var parts chunks
	defer parts.release()
	f := frame{owned: true}
	for {
		f.size += int64(len(part))
		switch {
		case f.size > int64(l.limit)*endlessLineFactor:
			return frame{}, errEndlessLine
		case f.tail != nil:
			f.keepTail(part)
		case f.size > int64(l.limit):
			parts.add(part)
			f.data = parts.head(keepHead)
			f.tail = append(make([]byte, 0, 2*keepTail), parts.tail(keepTail)...)
			parts.release()
		default:
			parts.add(part)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		part, err = l.r.ReadSlice('\n')
	}
	if f.tail == nil {
		f.data = parts.head(int(f.size))
	}
	return f, err
}

func (f *frame) keepTail(part []byte) {
	if len(part) > keepTail {
		part = part[len(part)-keepTail:]
	}
	f.tail = append(f.tail, part...)
	if n := len(f.tail) - keepTail; n > 0 {
		f.tail = append(f.tail[:0], f.tail[n:]...)
	}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// maxHeader bounds the header block of a framed message.
const maxHeader = 8 << 10

// body reads the rest of a header block and then n bytes.
func (l *lineReader) body(n int64) (frame, error) {
	for header := 0; ; {
		part, err := l.r.ReadSlice('\n')
		if err != nil {
			return frame{}, fmt.Errorf("unterminated header block: %w", unexpectedEOF(err))
		}
		if len(bytes.TrimRight(part, "\r\n")) == 0 {
			break
		}
		if header += len(part); header > maxHeader {
			return frame{}, errors.New("header block is too long")
		}
	}
	f := frame{hasContentLength: true, owned: true, size: n}
	if n <= int64(l.limit) {
		f.data = make([]byte, n)
		_, err := io.ReadFull(l.r, f.data)
		return f, unexpectedEOF(err)
	}
	if n > int64(l.limit)*endlessLineFactor {
		return frame{}, errEndlessLine
	}
	head := min(n, keepHead)
	tail := min(n-head, keepTail)
	f.data, f.tail = make([]byte, head), make([]byte, tail)
	if _, err := io.ReadFull(l.r, f.data); err != nil {
		return frame{}, unexpectedEOF(err)
	}
	if _, err := io.CopyN(io.Discard, l.r, n-head-tail); err != nil {
		return frame{}, unexpectedEOF(err)
	}
	_, err := io.ReadFull(l.r, f.tail)
	f.size = max(n, head+1)
	return f, unexpectedEOF(err)
}

func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// contentLength reads a header line such as "Content-Length: 123".
func contentLength(line []byte) (int64, bool) {
	const name = "content-length"
	if len(line) <= len(name) || line[len(name)] != ':' || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(line[len(name)+1:])), 10, 63)
	return n, err == nil && n >= 0
}

// responseID finds the id of a message that is too large or broken, from its
// beginning and, when it was cut, its end: the id of a response of ours is a number.
func responseID(head, tail []byte) (id int64, ok bool) {
	id, ok, isResponse := headID(head)
	if ok || !isResponse {
		return id, ok
	}
	if tail == nil {
		tail = head
	}
	id, _, ok = replyID(tailRawID(tail))
	return id, ok
}

// headID reads the members of an object one by one until one of them is broken.
// maybeResponse is false once it is clear that the message is something else.
func headID(head []byte) (id int64, ok, maybeResponse bool) {
	s := scanner{b: head}
	i := s.space(0)
	if i >= len(head) || head[i] != '{' {
		return 0, false, false
	}
	for i = s.space(i + 1); ; {
		key, from, err := s.key(i)
		if err != nil {
			return id, ok, true
		}
		name := string(head[key.Start:key.End])
		if name == `"method"` {
			return 0, false, false
		}
		if i, err = s.value(from, 1); err != nil || i == len(head) {
			return id, ok, true
		}
		if name == `"id"` {
			if id, _, ok = replyID(head[from:i]); !ok {
				return 0, false, false
			}
		}
		var done bool
		if i, done, err = s.memberEnd(i); err != nil || done {
			return id, ok, true
		}
	}
}

// RequestID returns the raw id of a request that is too large to be read, from its beginning and,
// if the id is not in it, from its end: SDKs write it either before or after the params. It returns
// nil if the id is not found, or if the message is not a request.
func RequestID(head, tail []byte) []byte {
	id, isRequest, cut := requestHead(head)
	if id == nil && isRequest && cut {
		id = tailRawID(tail)
	}
	if !isRequest || len(id) == 0 || !isRequestID(id) {
		return nil
	}
	return bytes.Clone(id)
}

// AppendTail appends part to tail and returns as many of the last bytes as RequestID needs.
func AppendTail(tail, part []byte) []byte {
	tail = append(tail, part[max(0, len(part)-keepTail):]...)
	return append(tail[:0], tail[max(0, len(tail)-keepTail):]...)
}

// requestHead reads the members of an object one by one until one of them is cut.
func requestHead(head []byte) (id []byte, isRequest, cut bool) {
	s := scanner{b: head}
	i := s.space(0)
	if i >= len(head) || head[i] != '{' {
		return nil, false, false
	}
	for i = s.space(i + 1); ; {
		key, from, err := s.key(i)
		if err != nil {
			return id, isRequest, true
		}
		name := string(head[key.Start:key.End])
		switch name {
		case `"result"`, `"error"`:
			return nil, false, false
		case `"method"`, `"params"`:
			isRequest = true
		}
		if i, err = s.value(from, 1); err != nil || i == len(head) {
			return id, isRequest, true
		}
		if name == `"id"` {
			id = head[from:i]
		}
		var done bool
		if i, done, err = s.memberEnd(i); err != nil || done {
			return id, isRequest, err != nil
		}
	}
}

// isRequestID reports whether raw is a string or a number.
func isRequestID(raw []byte) bool {
	return raw[0] == '"' || raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9'
}

// tailRawID returns the raw id of an object that ends with it, as some SDKs write it: ...,"id":12}
func tailRawID(tail []byte) []byte {
	rest, ok := bytes.CutSuffix(bytes.TrimRight(tail, " \t\r\n"), []byte("}"))
	if !ok {
		return nil
	}
	rest = bytes.TrimRight(rest, " \t")
	from := len(rest)
	if text, isString := bytes.CutSuffix(rest, []byte{'"'}); isString {
		if from = bytes.LastIndexByte(text, '"'); from < 0 || bytes.IndexByte(text[from:], '\\') >= 0 {
			return nil // cut, or with escapes, which ids do not need
		}
	} else {
		for from > 0 && '0' <= rest[from-1] && rest[from-1] <= '9' {
			from--
		}
	}
	id := rest[from:]
	rest = bytes.TrimRight(rest[:from], " \t")
	if rest, ok = bytes.CutSuffix(rest, []byte(":")); !ok || len(id) == 0 {
		return nil
	}
	if rest, ok = bytes.CutSuffix(bytes.TrimRight(rest, " \t"), []byte(`"id"`)); !ok {
		return nil
	}
	rest = bytes.TrimRight(rest, " \t")
	if len(rest) == 0 || rest[len(rest)-1] != ',' {
		return nil
	}
	return id
}

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
