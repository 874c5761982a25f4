package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

var errEventTooLarge = errors.New("an event is larger than the limit")

// eventReader reads Server-Sent Events.
type eventReader struct {
	r     *bufio.Reader
	limit int
}

type sseEvent struct {
	name  string
	id    string
	retry time.Duration // delay before the stream is reopened; 0 if absent
	data  []byte        // not reused by the reader
}

func newEventReader(r io.Reader, limit int) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 32<<10), limit: limit}
}

// next returns the next event with data or an id. An incomplete event at the end of the stream is
// dropped, as the format requires.
func (e *eventReader) next() (sseEvent, error) {
	var ev sseEvent
	hasData := false
	for {
		line, err := e.line()
		if err != nil {
			return sseEvent{}, err
		}
		if len(line) == 0 {
			if hasData || ev.name != "" || ev.id != "" || ev.retry > 0 {
				return ev, nil
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if len(ev.data)+len(value) > e.limit {
				return sseEvent{}, errEventTooLarge
			}
			if hasData {
				ev.data = append(ev.data, '\n')
			}
			ev.data = append(ev.data, value...)
			hasData = true
		case "event":
			ev.name = string(value)
		case "id":
			ev.id = string(value)
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				ev.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line returns one line without its terminator. A lone CR, which the format permits as a terminator
// but no known server sends, is not recognized.
func (e *eventReader) line() ([]byte, error) {
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

// mediaType returns the media type of a response, in lower case.
func mediaType(resp *http.Response) string {
	t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return strings.ToLower(t)
}
