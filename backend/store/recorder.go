package store

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Bounds of the recorder.
const (
	MaxField   = 64 << 10              // bytes kept of arguments, result or error, unless SetMaxField says otherwise
	MaxError   = 10_000                // characters kept of the sentence of an error
	MaxStack   = 50_000                // characters kept of where a mistake of ours happened
	maxQueued  = 4096                  // calls waiting for the disk
	maxBytes   = 32 << 20              // bytes of payload waiting for the disk
	batchRows  = 512                   // a batch is written when it has so many calls ...
	batchDelay = 50 * time.Millisecond // ... or its first call has waited so long
	retryDelay = time.Second
	stopLimit  = 3 * time.Second // for what waits when Run ends
	writeLimit = 10 * time.Second
)

// Recorder keeps finished calls. It implements the gateway's Recorder.
type Recorder struct {
	store *Store
	wake  chan struct{} // a batch is full, somebody waits, or the file needs care
	rules atomic.Pointer[rules]

	mu       sync.Mutex // guards the fields below
	queue    []entry
	batch    []entry         // the calls that are being written; its array is used again
	order    []queuePosition // of take, used again
	taken    int             // calls of the queue that are being written
	bytes    int             // payload of all of these
	held     int             // bytes of all of these that wait to be hashed
	recorded uint64
	written  uint64    // of recorded: on disk, or given up
	rate     writeRate // of written
	volume   uint64    // bytes of payload of these
	dropped  uint64
	stripped uint64 // calls kept without their payload
	fault    fault
	replaced string        // said until the next good write after it
	flushed  chan struct{} // closed and replaced after each write; nil when nobody waits
}

// entry is a call in the queue: no slice in it is shared with anybody.
type entry struct {
	call      core.Call // without Params
	payload   *[]byte   // pooled; nil: none
	arguments int       // its first bytes are the arguments, the others the reply
	isError   bool
	argsCut   *Cut
	replyCut  *Cut
	held      int  // bytes of both that wait to be hashed, as counted in the Recorder
	again     bool // it was to be written before: perhaps it is there
}

// queuePosition is where in the queue a call is.
type queuePosition struct {
	id int64
	at int
}

// Cut tells of a payload that was longer than MaxField.
type Cut struct {
	Size int    // bytes of the whole
	Hash []byte // SHA-256 of the whole; nil when too much waited to be hashed

	whole []byte // until it is hashed
}

var payloads = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

func newRecorder(s *Store) *Recorder {
	r := &Recorder{store: s, wake: make(chan struct{}, 1)}
	r.rules.Store(&rules{maxField: MaxField, harmless: new(harmless)})
	return r
}

// Record copies what it keeps of a finished call and returns: it never waits for the
// disk, and nothing of call or reply is used later. Secrets are taken out and long payloads cut
// before anything is queued. When the queue is full, the payload is left out; when
// even that does not fit, the call is dropped and counted.
func (r *Recorder) Record(call *core.Call, reply core.Reply) {
	rules := r.rules.Load()
	server := call.Server
	if now, ok := rules.renamed[server]; ok {
		server = now
	}
	keep := rules.levelFor(server, call.Name)
	if keep == KeepNothing {
		return
	}
	e := entry{call: *call}
	e.call.Server = server
	e.call.Params, e.call.Capabilities = nil, nil
	e.call.Arguments, e.call.Meta, e.call.ProgressToken = core.Span{}, core.Span{}, core.Span{}
	e.call.Name = rules.name(call.Name)
	e.call.PublicName = rules.name(call.PublicName)
	e.call.Reason = cutText(rules.text(cutText(call.Reason, MaxError+lookAhead)), MaxError)
	e.call.Stack = cutText(rules.text(cutText(call.Stack, MaxStack+lookAhead)), MaxStack)

	answer := reply.Result
	if len(reply.Error) > 0 {
		answer, e.isError = reply.Error, true
	}
	buf := payloads.Get().(*[]byte)
	if keep == KeepMeta {
		*buf = (*buf)[:0]
		e.payload = buf
		e.call.Reason, e.call.Stack = "", ""
		r.put(e)
		return
	}
	*buf, e.argsCut = rules.appendField((*buf)[:0], arguments(call))
	if e.argsCut != nil {
		e.argsCut.whole = bytes.Clone(e.argsCut.whole) // the request's buffer is used again; a reply's is not
	}
	e.arguments = len(*buf)
	*buf, e.replyCut = rules.appendField(*buf, answer)
	e.payload = buf
	r.put(e)
}

// arguments is the part of params worth keeping: a tool's or prompt's arguments, or
// all of it for other methods.
func arguments(call *core.Call) []byte {
	a := call.Arguments
	if !a.Empty() && a.Start >= 0 && a.End <= len(call.Params) {
		return call.Params[a.Start:a.End]
	}
	if call.Method == "tools/call" || call.Method == "prompts/get" {
		return nil
	}
	return call.Params
}

func (r *Recorder) put(e entry) {
	size := len(*e.payload)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == faultNewer || len(r.queue)+r.taken >= maxQueued {
		r.dropped++
		free(e.payload)
		return
	}
	if r.bytes+size > maxBytes {
		r.stripped++
		e.strip()
		size = 0
	}
	if held := e.argsCut.held() + e.replyCut.held(); r.held+held > maxBytes {
		e.argsCut.letGo()
		e.replyCut.letGo()
	} else {
		e.held = held
		r.held += held
	}
	r.recorded++
	r.bytes += size
	r.queue = append(r.queue, e)
	if n := len(r.queue); n == 1 || n == batchRows {
		r.wakeUp()
	}
}

// strip leaves the payload out, as a cut of all of it.
func (e *entry) strip() {
	if e.argsCut == nil && e.arguments > 0 {
		e.argsCut = &Cut{Size: e.arguments}
	}
	if n := len(*e.payload) - e.arguments; e.replyCut == nil && n > 0 {
		e.replyCut = &Cut{Size: n}
	}
	free(e.payload)
	e.payload, e.arguments = nil, 0
}

func free(b *[]byte) {
	if b != nil && cap(*b) <= 16<<10 { // a large one is left to the collector
		payloads.Put(b)
	}
}

func (r *Recorder) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Stats is the recorder at one moment.
type Stats struct {
	State    string // "recording", "paused" (tries again by itself) or "off"
	Reason   string // one sentence when it is not recording, or when a file was set aside
	Queued   int    // calls waiting for the disk
	Dropped  uint64 // calls lost since the start
	Stripped uint64 // calls kept without their payload since the start
}

// Stats returns what the recorder is doing.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := Stats{State: "recording", Reason: r.fault.sentence(), Queued: len(r.queue) + r.taken, Dropped: r.dropped, Stripped: r.stripped}
	switch r.fault {
	case faultNone:
		st.Reason = r.replaced
		if rules := r.rules.Load(); rules.off {
			st.State, st.Reason = "off", "recording is turned off in the configuration"
		} else if rules.Paused {
			st.State, st.Reason = "paused", "recording was paused by the user"
		}
	case faultNewer:
		st.State = "off"
	default:
		st.State = "paused"
	}
	return st
}

// setFault says what keeps us from writing, and tells the user when that changed.
func (r *Recorder) setFault(f fault) {
	r.mu.Lock()
	changed := r.fault != f
	r.fault = f
	sentence := f.sentence()
	if f == faultNone {
		sentence = r.replaced
	}
	dropped := r.dropped
	r.mu.Unlock()
	if !changed {
		return
	}
	if f == faultNone {
		r.store.o.Log.Info("Recording again", "dropped", dropped)
	} else {
		r.store.o.Log.Error("Recording stopped", "reason", sentence)
	}
	r.store.o.Notify(sentence)
}

func (r *Recorder) noteReplaced(sentence string) {
	r.mu.Lock()
	r.replaced = sentence
	r.mu.Unlock()
	r.store.o.Notify(sentence)
}

// Flush returns once every call recorded before it is on disk, or when ctx ends, or
// at once while the recorder cannot write.
func (r *Recorder) Flush(ctx context.Context) {
	r.mu.Lock()
	want := r.recorded
	for r.written < want && r.fault == faultNone {
		if r.flushed == nil {
			r.flushed = make(chan struct{})
		}
		done := r.flushed
		r.mu.Unlock()
		r.wakeUp()
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
		r.mu.Lock()
	}
	r.mu.Unlock()
}
