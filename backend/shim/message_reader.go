package shim

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

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
