package wire

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Limits of the queue of one call, beyond which the reader waits for a slow sink.
const (
	maxQueued      = 8192
	maxQueuedBytes = 1 << 20
)

// patience is the total time that the reader waits for the slow sink of one call, over the whole
// life of the call. After that, messages of the call that do not fit are lost.
const patience = 250 * time.Millisecond

type inboundKind uint8

const (
	inNotify inboundKind = iota
	inAsk
	inReply
)

// inbound is one message of the server that belongs to a call.
type inbound struct {
	kind   inboundKind
	method string
	params json.RawMessage
	id     json.RawMessage // of a request
	reply  core.Reply
	err    error
}

func (in *inbound) size() int { return len(in.params) + len(in.id) + 64 }

// flight is a call that was sent and not answered yet. The reader appends to its queue and the
// goroutine of the caller removes: this keeps wire order between the notifications of the call
// and its reply.
//
// The queue is bounded. When it is full, the reader waits for the sink, so that a burst loses
// nothing, but for patience in total, so that one slow sink cannot delay the other calls of the
// server. After that, notifications of this call are dropped and counted, and requests are
// refused. The reply always fits.
type flight struct {
	id    int64
	token []byte // the progress token of the client, raw; nil without one
	key   string // our progress token, as sent
	sink  core.Sink
	wake  chan struct{} // holds one signal when the queue is not empty

	mu      sync.Mutex
	queue   []inbound
	bytes   int
	room    chan struct{} // closed when the queue was emptied; nil when the reader does not wait
	left    time.Duration // remaining patience
	over    bool          // replied or abandoned: nothing more is queued
	dropped int
}

func newFlight(id int64, sink core.Sink) *flight {
	return &flight{id: id, sink: sink, wake: make(chan struct{}, 1), left: patience}
}

// offer queues in and reports whether it did. Only the reader calls it, except for the reply when
// the connection ends.
func (f *flight) offer(in inbound, done <-chan struct{}) bool {
	f.mu.Lock()
	for in.kind != inReply && f.full(&in) && !f.over {
		if f.left <= 0 {
			f.dropped++
			f.mu.Unlock()
			return false
		}
		f.room = make(chan struct{})
		room, left := f.room, f.left
		f.mu.Unlock()
		start := time.Now()
		timer := time.NewTimer(left)
		select {
		case <-room:
		case <-timer.C:
		case <-done:
		}
		timer.Stop()
		f.mu.Lock()
		f.left -= time.Since(start)
	}
	if f.over {
		f.mu.Unlock()
		return false
	}
	f.over = in.kind == inReply
	f.queue = append(f.queue, in)
	f.bytes += in.size()
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return true
}

func (f *flight) full(in *inbound) bool {
	return len(f.queue) > 0 && (len(f.queue) >= maxQueued || f.bytes+in.size() > maxQueuedBytes)
}

// take empties the queue. The caller may return the result for reuse.
func (f *flight) take(spare []inbound) []inbound {
	clear(spare)
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := f.queue
	f.queue, f.bytes = spare[:0], 0
	if f.room != nil {
		close(f.room)
		f.room = nil
	}
	return taken
}

// abandon makes the reader forget the flight. It returns the messages that remain in the queue.
func (f *flight) abandon() []inbound {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := f.queue
	f.over, f.queue = true, nil
	if f.room != nil {
		close(f.room)
		f.room = nil
	}
	return left
}
