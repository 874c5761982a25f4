package shim

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// readMessages sends every non-empty line of in to messages; the receiver owns its memory. A line
// that exceeds the maximum message size is skipped, and oversized is called. It returns nil at the
// end of in.
func readMessages(ctx context.Context, in io.Reader, messages chan<- []byte, oversized func()) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var line []byte
	skipping := false
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case skipping:
		case len(line)+len(part) > wire.DefaultMaxMessage:
			line, skipping = nil, true
			oversized()
		default:
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if msg := bytes.TrimSpace(line); len(msg) > 0 {
			select {
			case messages <- msg:
			case <-ctx.Done():
				return nil
			}
		}
		line, skipping = nil, false
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readEvents calls each with the data of every server-sent event in r, until each returns false or
// r ends. The data is valid until each returns.
func readEvents(r io.Reader, each func(data []byte) bool) error {
	br := bufio.NewReaderSize(r, 32<<10)
	var line, data []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) && len(line) <= 2*wire.DefaultMaxMessage {
			continue
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		field := bytes.TrimRight(line, "\r\n")
		switch {
		case len(field) == 0:
			if len(data) > 0 && !each(data) {
				return nil
			}
			data = data[:0]
		case bytes.HasPrefix(field, []byte("data:")):
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(field[len("data:"):], []byte(" "))...)
			if len(data) > wire.DefaultMaxMessage {
				return errors.New("an event is larger than 16 MiB")
			}
		}
		line = line[:0]
	}
}
