package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
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

// frame is one message as it was read.
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
