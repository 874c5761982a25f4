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
