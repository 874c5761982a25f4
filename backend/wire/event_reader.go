package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

var errEventTooLarge = errors.New("an event is larger than the limit")

// EventReader reads server-sent events.
type EventReader struct {
	r       *bufio.Reader
	limit   int
	started bool
}

// Event is a server-sent event.
type Event struct {
	Name  string
	ID    string
	Retry time.Duration // delay before the stream is reopened; 0 if absent
	Data  []byte        // not reused by the reader
}

// NewEventReader returns a reader of the events in r, whose data may have at most limit bytes.
func NewEventReader(r io.Reader, limit int) *EventReader {
	return &EventReader{r: bufio.NewReaderSize(r, 32<<10), limit: limit}
}

// Next returns the next event with data or an id. An incomplete event at the end of the stream is
// dropped, as the format requires.
func (e *EventReader) Next() (Event, error) {
	var ev Event
	hasData := false
	for {
		line, err := e.line()
		if err != nil {
			return Event{}, err
		}
		if !e.started {
			e.started, line = true, bytes.TrimPrefix(line, byteOrderMark)
		}
		if len(line) == 0 {
			if hasData || ev.Name != "" || ev.ID != "" || ev.Retry > 0 {
				return ev, nil
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if len(ev.Data)+len(value) > e.limit {
				return Event{}, errEventTooLarge
			}
			if hasData {
				ev.Data = append(ev.Data, '\n')
			}
			ev.Data = append(ev.Data, value...)
			hasData = true
		case "event":
			ev.Name = string(value)
		case "id":
			ev.ID = string(value)
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				ev.Retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line returns one line without its terminator. A lone CR, which the format permits as a terminator
// but no known server sends, is not recognized.
func (e *EventReader) line() ([]byte, error) {
	part, err := e.r.ReadSlice('\n')
	if err == nil {
		return bytes.TrimRight(part, "\r\n"), nil
	}
	var line []byte
	for errors.Is(err, bufio.ErrBufferFull) {
		if line = append(line, part...); len(line) > e.limit+64 {
			return nil, errEventTooLarge
		}
		part, err = e.r.ReadSlice('\n')
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(append(line, part...), "\r\n"), nil
}

// mediaType returns the media type of a response, in lower case. The official SDKs look for the two
// types of MCP anywhere in the header, which may be repeated or have malformed parameters.
func mediaType(resp *http.Response) string {
	header := strings.ToLower(resp.Header.Get("Content-Type"))
	for _, known := range []string{"text/event-stream", "application/json"} {
		if strings.Contains(header, known) {
			return known
		}
	}
	t, _, _ := strings.Cut(header, ";")
	return strings.TrimSpace(t)
}

const chunkSize = 256 << 10

var chunkPool = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// chunks collects a long message in reusable pieces, so that neither growing a buffer nor
// discarding an oversized message leaves garbage.
type chunks struct {
	full []*[chunkSize]byte // all but the last are full
	size int
}

func (c *chunks) add(part []byte) {
	for len(part) > 0 {
		at := c.size % chunkSize
		if at == 0 {
			c.full = append(c.full, chunkPool.Get().(*[chunkSize]byte))
		}
		n := copy(c.full[len(c.full)-1][at:], part)
		c.size += n
		part = part[n:]
	}
}

// head returns a copy of at most the first n bytes.
func (c *chunks) head(n int) []byte {
	n = min(n, c.size)
	out := make([]byte, 0, n)
	for _, piece := range c.full {
		out = append(out, piece[:min(chunkSize, n-len(out))]...)
	}
	return out
}

// tail returns a copy of at most the last n bytes.
func (c *chunks) tail(n int) []byte {
	n = min(n, c.size)
	out := make([]byte, n)
	for i := range out {
		at := c.size - n + i
		out[i] = c.full[at/chunkSize][at%chunkSize]
	}
	return out
}

func (c *chunks) release() {
	for _, piece := range c.full {
		chunkPool.Put(piece)
	}
	*c = chunks{}
}
