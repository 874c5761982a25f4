package wire

import (
	"context"
	"io"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// maxOutbox is the limit of queued bytes.
const maxOutbox = 8 << 20

// maxQueuedCalls is the limit of queued bytes for senders that can wait. They wait in the order of
// their arrival, until their deadline if the server does not read.
const maxQueuedCalls = 1 << 20

// maxKeptBuffer is the largest buffer that is reused.
const maxKeptBuffer = 512 << 10

// writeChunk is the number of bytes written under one deadline.
const writeChunk = 64 << 10

// maxDirectWrite is about the largest message that its sender writes directly.
const maxDirectWrite = 4 << 10

// batchThreshold is the number of calls from which on messages are batched: then another one nearly
// always follows immediately, and one write wakes the server once.
const batchThreshold = 8

// tryWriter is a writer with a non-blocking write: TryWrite returns how many bytes of p it wrote.
// The rest is passed to Write next.
type tryWriter interface{ TryWrite(p []byte) int }

// outbox queues messages and writes them from one goroutine, in batches. No other goroutine blocks
// on the pipe; but a short message is written directly if the queue is empty and the pipe has room,
// because waking the goroutine takes longer than the write.
type outbox struct {
	w       io.Writer
	timeout time.Duration
	done    <-chan struct{}
	framed  func() bool
	// heardSince reports whether the server sent anything since the given time.
	heardSince func(since time.Time) bool
	// onStuck closes the connection while a write still blocks.
	onStuck func()
	wake    chan struct{}
	// inFlight is the number of calls in flight.
	inFlight atomic.Int32

	// turn admits the waiting senders one at a time. A full channel serves its senders in the order
	// of their arrival; without that, some callers would wait much longer than others.
	turn  chan struct{}
	space chan struct{} // receives a signal when buf was taken out and a sender waits

	mu      sync.Mutex
	buf     []byte
	writing bool   // a write to w is in progress; buf follows it
	spare   []byte // buffer for the next direct write
	waiting int    // number of senders that wait
}

// enqueue queues one message that build appends to its argument. While the queue is full, it blocks
// until ctx or the connection ends. It reports whether the message was queued.
func (o *outbox) enqueue(ctx context.Context, size int, build func(dst []byte) []byte) bool {
	o.mu.Lock()
	if o.waiting > 0 || !o.fits(size, maxQueuedCalls) {
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
		ok := o.fits(size, maxQueuedCalls)
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

// addAndUnlock queues or writes one message. The caller must hold o.mu.
func (o *outbox) addAndUnlock(size int, build func(dst []byte) []byte) {
	if !o.writing && len(o.buf) == 0 && size <= maxDirectWrite && o.inFlight.Load() < batchThreshold {
		if t, ok := o.w.(tryWriter); ok {
			o.writeDirectly(t, build)
			return
		}
	}
	if size > writeChunk {
		o.buf = slices.Grow(o.buf, size) // appending in parts would copy a long message several times
	}
	o.buf = o.append(o.buf, build)
	o.mu.Unlock()
	o.wakeWriter()
}

func (o *outbox) wakeWriter() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// writeDirectly writes one message directly if possible. It must be called with o.mu held and buf
// empty, and releases the lock.
func (o *outbox) writeDirectly(t tryWriter, build func(dst []byte) []byte) {
	out := o.append(o.spare[:0], build)
	o.spare, o.writing = nil, true
	o.mu.Unlock()
	n := t.TryWrite(out)
	o.mu.Lock()
	o.writing = false
	if n < len(out) {
		o.buf = append(out[n:], o.buf...)
	} else if cap(out) <= 2*maxDirectWrite {
		o.spare = out
	}
	more := len(o.buf) > 0
	o.mu.Unlock()
	if more {
		o.wakeWriter()
	}
}

// tryEnqueue is enqueue, but never blocks: it does not wait for the senders that wait.
func (o *outbox) tryEnqueue(size int, build func(dst []byte) []byte) bool {
	o.mu.Lock()
	if !o.fits(size, maxOutbox) {
		o.mu.Unlock()
		return false
	}
	o.addAndUnlock(size, build)
	return true
}

func (o *outbox) append(dst []byte, build func([]byte) []byte) []byte {
	if !o.framed() {
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
	for {
		select {
		case <-o.wake:
		case <-o.done:
			return nil
		}
		if o.inFlight.Load() >= batchThreshold {
			runtime.Gosched() // lets other goroutines add to this batch
		}
		o.mu.Lock()
		if o.writing || len(o.buf) == 0 {
			o.mu.Unlock()
			continue // the current writer signals again if anything is left
		}
		out := o.buf
		o.buf, o.writing = spare[:0], true
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
		o.mu.Lock()
		o.writing = false
		o.mu.Unlock()
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
