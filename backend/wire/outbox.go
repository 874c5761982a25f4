package wire

import (
	"context"
	"io"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// maxOutboxBytes is the limit of queued bytes.
const maxOutboxBytes = 8 << 20

// maxQueuedCallBytes is the limit of queued bytes for senders that can wait. They wait in the order
// of their arrival, until their deadline if the server does not read.
const maxQueuedCallBytes = 1 << 20

// maxKeptBuffer is the largest buffer that is reused.
const maxKeptBuffer = 512 << 10

// writeChunk is the number of bytes written under one deadline.
const writeChunk = 64 << 10

// outbox queues messages and writes them from one goroutine, in batches. No other goroutine blocks
// on the pipe.
type outbox struct {
	w                 io.Writer
	timeout           time.Duration
	done              <-chan struct{}
	usesContentLength func() bool
	// heardSince reports whether the server sent anything since the given time.
	heardSince func(since time.Time) bool
	// onStuck closes the connection while a write still blocks.
	onStuck func()
	wake    chan struct{}

	// turn admits the waiting senders one at a time. A full channel serves its senders in the order
	// of their arrival; without that, some callers would wait much longer than others.
	turn  chan struct{}
	space chan struct{} // receives a signal when buf was taken out and a sender waits

	mu      sync.Mutex
	buf     []byte
	queued  int // number of messages in buf
	waiting int // number of senders that wait
}

// enqueue queues one message that build appends to its argument. While the queue is full, it blocks
// until ctx or the connection ends. It reports whether the message was queued.
func (o *outbox) enqueue(ctx context.Context, size int, build func(dst []byte) []byte) bool {
	o.mu.Lock()
	if o.waiting > 0 || !o.fits(size, maxQueuedCallBytes) {
		o.waiting++
		o.mu.Unlock()
		ok := o.waitForSpace(ctx, size)
		o.mu.Lock()
		o.waiting--
		if !ok {
			o.mu.Unlock()
			return false
		}
		defer func() { <-o.turn }()
	}
	o.addAndUnlock(size, build)
	return true
}

// fits reports whether a message can be queued. The caller must hold o.mu.
func (o *outbox) fits(size, limit int) bool { return len(o.buf) == 0 || len(o.buf)+size <= limit }

// waitForSpace waits until the message fits and all senders that waited before have queued theirs.
// If it returns true, it holds o.turn, so no other sender can use the space.
func (o *outbox) waitForSpace(ctx context.Context, size int) bool {
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	case <-o.done:
		return false
	}
	for {
		o.mu.Lock()
		ok := o.fits(size, maxQueuedCallBytes)
		o.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-o.space:
			continue
		case <-ctx.Done():
		case <-o.done:
		}
		<-o.turn
		return false
	}
}

// addAndUnlock queues one message. The caller must hold o.mu.
func (o *outbox) addAndUnlock(size int, build func(dst []byte) []byte) {
	if size > writeChunk {
		o.buf = slices.Grow(o.buf, size) // appending in parts would copy a long message several times
	}
	o.buf = o.append(o.buf, build)
	o.queued++
	o.mu.Unlock()
	o.wakeWriter()
}

func (o *outbox) wakeWriter() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// tryEnqueue is enqueue, but never blocks: it does not wait for the senders that wait.
func (o *outbox) tryEnqueue(size int, build func(dst []byte) []byte) bool {
	o.mu.Lock()
	if !o.fits(size, maxOutboxBytes) {
		o.mu.Unlock()
		return false
	}
	o.addAndUnlock(size, build)
	return true
}

func (o *outbox) append(dst []byte, build func([]byte) []byte) []byte {
	if !o.usesContentLength() {
		return append(build(dst), '\n')
	}
	body := build(nil)
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(body)), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}

// run writes until the connection ends or the pipe breaks.
func (o *outbox) run() error {
	var spare []byte
	batched := 0 // number of messages in the last batch
	for {
		select {
		case <-o.wake:
		case <-o.done:
			return nil
		}
		// Other senders add to this batch: 6 to 9 % more calls per second with 64 clients. With one
		// client it would only delay the message, by 3 to 4 % of a call.
		if batched > 1 {
			runtime.Gosched()
		}
		o.mu.Lock()
		if len(o.buf) == 0 { // an earlier signal covered these messages
			o.mu.Unlock()
			continue
		}
		out := o.buf
		o.buf = spare[:0]
		batched, o.queued = o.queued, 0
		if o.waiting > 0 {
			select {
			case o.space <- struct{}{}:
			default:
			}
		}
		o.mu.Unlock()
		if err := o.write(out); err != nil {
			return err
		}
		if spare = out; cap(spare) > maxKeptBuffer {
			spare = nil
		}
	}
}

type deadlineWriter interface{ SetWriteDeadline(time.Time) error }

// write writes out in pieces. It gives up only if the server neither read nor sent anything for the
// whole timeout: a server that works on a long call without reading is slow, not broken.
func (o *outbox) write(out []byte) error {
	d, _ := o.w.(deadlineWriter)
	for len(out) > 0 {
		start := time.Now()
		if d != nil && d.SetWriteDeadline(start.Add(o.timeout)) != nil {
			d = nil
		}
		var guard *time.Timer
		if d == nil { // a pipe without deadlines: closing it unblocks the write
			guard = time.AfterFunc(o.timeout, func() {
				if !o.heardSince(start) {
					o.onStuck()
				}
			})
		}
		n, err := o.w.Write(out[:min(len(out), writeChunk)])
		if guard != nil {
			guard.Stop()
		}
		out = out[n:]
		if err == nil {
			continue
		}
		if !isTimeout(err) {
			return err
		}
		if n == 0 && !o.heardSince(start) {
			return errNotReading
		}
	}
	return nil
}
