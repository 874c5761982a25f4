package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
)

// Limits of the recorder.
const (
	MaxField   = 64 << 10              // default maximum bytes of arguments, result or error; see SetMaxField
	MaxError   = 10_000                // maximum characters of an error message
	MaxStack   = 50_000                // maximum characters of the stack trace of an internal error
	maxQueued  = 4096                  // maximum number of queued calls
	maxBytes   = 32 << 20              // maximum payload bytes of queued calls, and separately maximum bytes to be hashed
	batchRows  = 512                   // a batch is written when it has this many calls ...
	batchDelay = 50 * time.Millisecond // ... or this long after its first call finished
	retryDelay = time.Second
	stopLimit  = 3 * time.Second // time for writing the queue when Run ends
	writeLimit = 10 * time.Second
)

// Recorder records finished calls. It implements gateway.Recorder. Its methods are safe for
// concurrent use, except Run.
type Recorder struct {
	store *Store
	wake  chan struct{} // signaled if calls were queued, a caller waits in Flush, or the file must be reopened
	rules atomic.Pointer[rules]

	mu              sync.Mutex // guards the fields below
	queue           []entry
	batch           []entry // the calls that are being written; the array is reused
	writing         int     // number of calls in batch
	bytes           int     // payload bytes of queue and batch
	recorded        uint64
	written         uint64    // number of recorded calls that were written or dropped
	rate            writeRate // rate of written
	writtenBytes    uint64    // payload bytes of the written calls
	dropped         uint64
	stripped        uint64 // calls recorded without their payload
	fault           fault
	replacedMessage string        // message about a replaced file, reported by Stats while there is no fault
	flushed         chan struct{} // closed after each write; nil if no caller waits in Flush
}

// entry is a call in the queue. It shares no memory with the call passed to Record.
type entry struct {
	call      core.Call // without Params
	payload   []byte    // nil if there is none
	arguments int       // length of the arguments in payload; the rest is the reply
	isError   bool
	progress  []byte // the progress notifications as a JSON array; nil if there are none
	argsCut   *Cut
	replyCut  *Cut
	retried   bool // an earlier attempt to write it failed, so it may exist in the database
}

// reply returns the recorded part of the reply, or nil.
func (e *entry) reply() []byte {
	if e.payload == nil {
		return nil
	}
	return e.payload[e.arguments:]
}

func (e *entry) bytes() int { return len(e.payload) + len(e.progress) }

// Cut describes a payload that was truncated because it was longer than the limit.
type Cut struct {
	Size int    // size of the complete payload in bytes
	Hash []byte // SHA-256 of the complete payload; nil if it was dropped because too many bytes were queued
}

func newRecorder(s *Store) *Recorder {
	r := &Recorder{store: s, wake: make(chan struct{}, 1)}
	r.rules.Store(&rules{maxField: MaxField})
	return r
}

// Record queues a copy of a finished call and returns. It never waits for the disk, and does not
// use call or reply after it returns. Secrets are removed and long payloads hashed and truncated
// before the call is queued, so the queue holds no long payload. If the queue holds too many bytes,
// the call is queued without its payload; if it holds too many calls, the call is dropped and
// counted.
func (r *Recorder) Record(call *core.Call, reply core.Reply) {
	rules := r.rules.Load()
	server := call.Server
	if now, ok := rules.renamed[server]; ok {
		server = now
	}
	level := rules.levelFor(server, call.Name)
	if level == KeepNothing {
		return
	}
	e := entry{call: *call}
	e.call.Server, e.call.Method, e.call.Admission = server, call.RecordedMethod(), core.Admission{}
	e.call.Params, e.call.Capabilities, e.call.ProgressLog = nil, nil, nil
	e.call.Arguments, e.call.Meta, e.call.ProgressToken = core.Span{}, core.Span{}, core.Span{}
	e.call.Name = rules.secrets.Text(call.Name)
	e.call.PublicName = rules.secrets.Text(call.PublicName)
	if t := call.Task; t != nil {
		redacted := *t
		redacted.ID = rules.secrets.Known(t.ID) // it leads to the task after a restart, also if it looks like a token
		e.call.Task = &redacted
	}
	e.call.Reason = core.CutChars(rules.secrets.Text(core.CutChars(call.Reason, MaxError+lookAhead)), MaxError)
	e.call.Stack = core.CutChars(rules.secrets.Text(core.CutChars(call.Stack, MaxStack+lookAhead)), MaxStack)

	response := reply.Result
	if len(reply.Error) > 0 {
		response, e.isError = reply.Error, true
	}
	if level == KeepMeta {
		e.payload = []byte{}
		e.call.Reason, e.call.Stack = "", ""
		r.enqueue(e)
		return
	}
	most := rules.fieldLimit(call, server, r.store.opts.Now)
	arguments := recordedArguments(call)
	e.payload = make([]byte, 0, min(len(arguments), most)+min(len(response), most))
	e.payload, e.argsCut = rules.appendField(e.payload, arguments, most)
	e.arguments = len(e.payload)
	if call.RecordedUnchangedAs != nil {
		most = max(most, MaxFullField)
	}
	e.payload, e.replyCut = rules.appendField(e.payload, response, most)
	if len(call.ProgressLog) > 0 {
		e.progress = rules.progressLog(call.ProgressLog)
	}
	unchanged := call.RecordedUnchangedAs != nil && e.replyCut == nil && bytes.Equal(e.reply(), response)
	if r.enqueue(e) && unchanged {
		*call.RecordedUnchangedAs = call.ID
	}
}

// recordedArguments returns the part of params that is recorded: the arguments of a tool or
// prompt, or all params of other methods.
func recordedArguments(call *core.Call) []byte {
	a := call.Arguments
	if !a.Empty() && a.Start >= 0 && a.End <= len(call.Params) {
		return call.Params[a.Start:a.End]
	}
	if call.Method == "tools/call" || call.Method == "prompts/get" {
		return nil
	}
	return call.Params
}

// enqueue reports whether the call will be written with its payload, as far as is known now.
func (r *Recorder) enqueue(e entry) (complete bool) {
	size := e.bytes()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == faultNewer || len(r.queue)+r.writing >= maxQueued {
		r.dropped++
		return false
	}
	complete = r.fault == faultNone
	if r.bytes+size > maxBytes {
		r.stripped++
		e.dropPayload()
		e.progress, size, complete = nil, 0, false
	}
	r.recorded++
	r.bytes += size
	r.queue = append(r.queue, e)
	if n := len(r.queue); n == 1 || n == batchRows {
		r.signal()
	}
	return complete
}

// dropPayload removes the payload and records its size as cut.
func (e *entry) dropPayload() {
	if e.argsCut == nil && e.arguments > 0 {
		e.argsCut = &Cut{Size: e.arguments}
	}
	if n := len(e.payload) - e.arguments; e.replyCut == nil && n > 0 {
		e.replyCut = &Cut{Size: n}
	}
	e.payload, e.arguments = nil, 0
}

func (r *Recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Stats is a snapshot of the state of the recorder.
type Stats struct {
	State    string // "recording", "paused" (by the user, or because of an error, after which it retries) or "off"
	Reason   string // one sentence if it is not recording, or if a file was replaced
	Queued   int    // calls not yet on disk
	Dropped  uint64 // calls dropped since the start
	Stripped uint64 // calls recorded without their payload since the start
}

// Stats returns the current state of the recorder.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := Stats{State: "recording", Reason: r.fault.message(), Queued: len(r.queue) + r.writing, Dropped: r.dropped, Stripped: r.stripped}
	switch r.fault {
	case faultNone:
		st.Reason = r.replacedMessage
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

// setFault sets the reason why calls cannot be written, and notifies the user if it changed.
func (r *Recorder) setFault(f fault) {
	r.mu.Lock()
	changed := r.fault != f
	r.fault = f
	sentence := f.message()
	if f == faultNone {
		sentence = r.replacedMessage
	}
	dropped := r.dropped
	r.mu.Unlock()
	if !changed {
		return
	}
	if f == faultNone {
		r.store.opts.Log.Info("Recording again", "dropped", dropped)
	} else {
		r.store.opts.Log.Error("Recording stopped", "reason", sentence)
	}
	r.store.opts.Notify(sentence)
}

func (r *Recorder) reportReplaced(sentence string) {
	r.mu.Lock()
	r.replacedMessage = sentence
	r.mu.Unlock()
	r.store.opts.Notify(sentence)
}

// Flush blocks until all calls recorded before are on disk or ctx is done. It returns immediately
// while the recorder cannot write.
func (r *Recorder) Flush(ctx context.Context) {
	r.mu.Lock()
	want := r.recorded
	for r.written < want && r.fault == faultNone {
		if r.flushed == nil {
			r.flushed = make(chan struct{})
		}
		done := r.flushed
		r.mu.Unlock()
		r.signal()
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
		r.mu.Lock()
	}
	r.mu.Unlock()
}

// rules is the immutable configuration of Record. It is replaced as a whole.
type rules struct {
	RecordingSettings
	off         bool // recording is turned off in the configuration
	maxField    int
	fullSession string // session of the configuration that is recorded in full, or ""
	secrets     redact.Redactor
	ceiling     map[string]RecordLevel // maximum level by server, from the configuration
	toolCeiling map[Tool]RecordLevel   // maximum level by tool, from the configuration; has precedence over ceiling
	renamed     map[string]string      // current name of each renamed server, by its former name
}

func (r *rules) levelFor(server, tool string) RecordLevel {
	if r.off || r.Paused {
		return KeepNothing
	}
	keep, most := KeepFull, r.ceiling[server]
	if len(r.toolCeiling) > 0 && tool != "" {
		if own, ok := r.toolCeiling[Tool{server, tool}]; ok {
			most = own
		}
	}
	if most == KeepNothing {
		return KeepNothing
	}
	for i := range r.Rules {
		if one := &r.Rules[i]; one.Server == server {
			if one.Tool == tool && tool != "" {
				keep = one.Keep
				break
			}
			if one.Tool == "" {
				keep = one.Keep
			}
		}
	}
	if keep == KeepFull && most == KeepMeta {
		return KeepMeta
	}
	return keep
}

// fieldLimit returns the maximum number of recorded bytes of each payload of a call.
func (r *rules) fieldLimit(call *core.Call, server string, now func() time.Time) int {
	if r.fullSession == "" && len(r.Full) == 0 {
		return r.maxField
	}
	if r.fullSession != "" && r.fullSession == call.Session ||
		slices.ContainsFunc(r.Full, func(f FullRecording) bool { return f.matches(call, server) && now().Before(f.Until) }) {
		return max(r.maxField, MaxFullField)
	}
	return r.maxField
}

// lookAhead is the number of bytes beyond the limit that are searched for secrets, so that a
// secret that crosses the limit is recognized.
const lookAhead = 1024

// appendField appends a payload without its secrets. If it is longer than most bytes, binary data in
// it is left out first, and then it is truncated. The Cut is nil if the payload is complete.
func (r *rules) appendField(dst, src []byte, most int) ([]byte, *Cut) {
	if len(src) <= most {
		return r.secrets.AppendJSON(dst, src), nil
	}
	hash := sha256.Sum256(src)
	cut := &Cut{Size: len(src), Hash: hash[:]}
	src = shortenBinary(src)
	start := len(dst)
	dst = r.secrets.AppendJSON(dst, src[:min(len(src), most+lookAhead)])
	if len(src) <= most {
		return dst, cut
	}
	end := min(len(dst), start+most)
	for end > start && end < len(dst) && !utf8.RuneStart(dst[end]) {
		end--
	}
	return dst[:end], cut
}

// progressLog returns the notifications as a JSON array without secrets, or nil if one of them is not
// valid JSON.
func (r *rules) progressLog(notifications []core.ProgressNotification) []byte {
	text, err := core.EncodeJSON(notifications)
	if err != nil {
		return nil
	}
	if clean := r.secrets.AppendJSON(nil, text); json.Valid(clean) {
		return clean
	}
	return nil
}

// The id of a call is its start time, except for calls that started after the clock was set back:
// their ids continue from the newest id, so that ids stay unique and ordered. While such calls
// exist, queries by time also compare the start time of each call in their range of ids.

// clockSetBackThreshold is the minimum difference between the id and the start time of a late call.
const clockSetBackThreshold = time.Minute

const lateRangeKey = "late_calls"

// clockSetBackRange is the range of ids of the calls that started after the clock was set back. A
// nil range is empty.
type clockSetBackRange struct{ first, last int64 }

// extend returns the range extended by one call. It returns m itself if the call is not late or
// the range contains it already.
func (m *clockSetBackRange) extend(id, at int64) *clockSetBackRange {
	if id-at < clockSetBackThreshold.Microseconds() || m != nil && m.first <= id && id <= m.last {
		return m
	}
	if m == nil {
		return &clockSetBackRange{id, id}
	}
	return &clockSetBackRange{min(m.first, id), max(m.last, id)}
}

func loadLateRange(ctx context.Context, db queryer) (*clockSetBackRange, error) {
	var value []byte
	err := db.QueryRowContext(ctx, `SELECT value FROM metadata WHERE key = ?`, lateRangeKey).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	var m clockSetBackRange
	if _, scanErr := fmt.Sscan(string(value), &m.first, &m.last); err != nil || scanErr != nil {
		return nil, err // an invalid value is overwritten by the next late call
	}
	return &m, nil
}

// save stores the range in the database.
func (m *clockSetBackRange) save(ctx context.Context, tx *transaction, now time.Time) error {
	_, err := tx.ExecContext(ctx, upsertMetadata, lateRangeKey, []byte(fmt.Sprint(m.first, " ", m.last)), now.UnixMicro())
	return err
}

// expired returns at most rows calls of the range that started before at although their ids are not
// less than edge.
func (m *clockSetBackRange) expired(ctx context.Context, tx *transaction, at time.Time, edge int64, rows int) ([]any, error) {
	if m == nil || m.last < edge {
		return nil, nil
	}
	return queryIDs(ctx, tx, `SELECT id FROM call WHERE id BETWEEN ? AND ? AND at < ? ORDER BY id LIMIT ?`, max(m.first, edge), m.last, at.UnixMicro(), rows)
}
