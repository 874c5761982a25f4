package store

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/store/payload"
)

// Run writes recorded calls in batches until ctx is done: a batch is written 50 ms after its first
// call finished, or when it has 512 calls. When ctx is done, Run writes the remaining queue for at
// most 3 s. It always returns nil; disk errors are reported by Stats. Run also runs indexing,
// payload packing and retention in the background and waits for them to stop.
func (r *Recorder) Run(ctx context.Context) error {
	indexing, stopIndexing := context.WithCancel(ctx)
	var index sync.WaitGroup
	index.Go(func() { r.store.runIndexing(indexing) })
	index.Go(func() { r.store.runPacking(indexing) })
	index.Go(func() { r.store.runRetention(indexing) }) // separately, so that batches do not wait for all of its steps
	defer index.Wait()
	defer stopIndexing()
	tick := time.NewTicker(retentionInterval)
	defer tick.Stop()
	r.store.fillReservedSpace()
	retry := time.NewTimer(0)
	<-retry.C
	defer retry.Stop()
	for {
		if r.pending() || r.store.broken() {
			wait := r.writeBatch(ctx)
			if wait > 0 {
				retry.Reset(wait)
			}
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
			defer cancel()
			for r.pending() && r.writeBatch(last) == 0 {
			}
			return nil
		case <-r.wake:
			r.waitForBatch(ctx)
		case <-retry.C:
		case <-tick.C:
			r.releaseQueue()
			r.store.fillReservedSpace()
		}
	}
}

// waitForBatch blocks until the first call of the queue has waited for batchDelay, the batch is
// full, a caller waits in Flush, or ctx is done.
func (r *Recorder) waitForBatch(ctx context.Context) {
	delay := time.NewTimer(r.remainingDelay())
	defer delay.Stop()
	for !r.urgent() {
		select {
		case <-delay.C:
			return
		case <-r.wake:
		case <-ctx.Done():
			return
		}
	}
}

// remainingDelay returns how much of batchDelay is left for the first call of the queue. It is 0
// if the delay passed while the previous batch was written.
func (r *Recorder) remainingDelay() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		return batchDelay
	}
	c := &r.queue[0].call
	return min(max(batchDelay-time.Since(c.At.Add(c.Took)), 0), batchDelay)
}

func (r *Recorder) urgent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) >= batchRows || r.flushed != nil
}

// hasFault reports whether the last write failed.
func (r *Recorder) hasFault() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fault != faultNone
}

// progress returns the number of calls that were written or dropped after being queued, and the
// number of bytes of their payloads.
func (r *Recorder) progress() (calls, bytes uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written, r.writtenBytes
}

func (r *Recorder) pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) > 0
}

// writeBatch writes one batch. It returns the delay before the next attempt, or 0 if the batch was
// written or dropped.
func (r *Recorder) writeBatch(ctx context.Context) time.Duration {
	if f := r.store.reopen(ctx); f != faultNone {
		r.setFault(f)
		r.wakeFlushers()
		if f == faultNewer {
			r.discard()
			return 30 * time.Second
		}
		return retryDelay
	}
	batch := r.nextBatch()
	// Calls finish in another order than they start. Rows are inserted fastest in the order of their ids.
	sort.Slice(batch, func(i, j int) bool { return batch[i].call.ID < batch[j].call.ID })
	err := r.store.write(ctx, batch)
	f := faultOf(err)
	if ctx.Err() != nil && err != nil {
		f = faultOther // the error is caused by the cancellation, not by the disk
	} else if f == faultOther && r.store.broken() {
		r.requeue(batch) // another user of the file found it damaged or missing; the next call reopens it
		return time.Millisecond
	} else if f == faultOther && err != nil {
		r.store.opts.Log.Error("Cannot write calls", "calls", len(batch), "error", err)
		batch = r.writeOneByOne(ctx, batch)
		f = faultNone
	}
	if f == faultNone {
		r.completeBatch(batch)
		r.setFault(faultNone)
		return 0
	}
	r.requeue(batch)
	if f == faultFull && r.store.dropReservedSpace() {
		return time.Millisecond // space is available again, for a while
	}
	if ctx.Err() == nil {
		r.setFault(f)
	}
	r.wakeFlushers()
	return retryDelay
}

// writeRate measures the number of calls written per second.
type writeRate struct {
	since     time.Time
	calls     uint64 // number of calls written at the time since
	perSecond float64
}

func (p *writeRate) update(now time.Time, calls uint64) {
	if elapsed := now.Sub(p.since); elapsed >= time.Second {
		p.perSecond = float64(calls-p.calls) / elapsed.Seconds()
		p.since, p.calls = now, calls
	}
}

// busy reports whether more than quietCalls were written in the last second.
func (r *Recorder) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rate.perSecond > quietCalls && time.Since(r.rate.since) < 3*time.Second
}

// nextBatch removes the oldest calls from the queue and returns them. The slice is valid until the
// next call of nextBatch.
func (r *Recorder) nextBatch() []entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.queue), batchRows)
	r.batch = append(r.batch[:0], r.queue[:n]...)
	rest := copy(r.queue, r.queue[n:])
	clear(r.queue[rest:])
	r.queue = r.queue[:rest]
	r.writing = n
	return r.batch
}

// releaseMemory releases the arrays of the queue and of the last batch, 1.3 MB after many calls.
func (r *Recorder) releaseMemory() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 && r.writing == 0 {
		r.queue, r.batch = nil, nil
	}
}

// releaseQueue releases the array of the queue if it is much larger than a batch and the queue is
// empty.
func (r *Recorder) releaseQueue() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 && cap(r.queue) > 2*batchRows {
		r.queue = nil
	}
}

func (r *Recorder) requeue(batch []entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range batch {
		batch[i].retried = true
	}
	r.queue = slices.Concat(batch, r.queue)
	r.writing = 0
}

// completeBatch forgets a batch that was written or dropped, updates the counters
// and wakes the callers of Flush.
func (r *Recorder) completeBatch(batch []entry) {
	r.mu.Lock()
	for i := range batch {
		n := batch[i].bytes()
		r.bytes -= n
		r.writtenBytes += uint64(n)
	}
	clear(batch)
	r.written += uint64(len(batch))
	r.rate.update(time.Now(), r.written)
	r.writing = 0
	more := len(r.queue) > 0
	r.mu.Unlock()
	r.wakeFlushers()
	if more {
		r.signal()
	}
}

// wakeFlushers wakes all callers that wait in Flush; each of them checks its condition again.
func (r *Recorder) wakeFlushers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flushed != nil {
		close(r.flushed)
		r.flushed = nil
	}
}

// writeOneByOne writes each call of a batch in a separate transaction, after the batch failed
// because of an error that is not caused by the disk: one invalid row must not cost the whole
// batch. Calls that still cannot be written are dropped and counted.
func (r *Recorder) writeOneByOne(ctx context.Context, batch []entry) []entry {
	lost := 0
	for i := range batch {
		batch[i].retried = true
		if err := r.store.write(ctx, batch[i:i+1]); err != nil {
			lost++
		}
	}
	r.mu.Lock()
	r.dropped += uint64(lost)
	r.mu.Unlock()
	return batch
}

// discard drops and counts all queued calls. It is used when the file will not be written during
// this run of the program.
func (r *Recorder) discard() {
	r.mu.Lock()
	batch := r.queue
	r.queue = nil
	r.dropped += uint64(len(batch))
	r.mu.Unlock()
	r.completeBatch(batch)
}

// inserter keeps what one transaction after another uses to insert calls. It is used by one
// goroutine.
type inserter struct {
	call, pending, body, attributes, stack, progress *insertedRows
	compressor                                       payload.Compressor
	dimensions                                       map[dimension]int64
	versions                                         map[versionKey]any // of int64, so that binding one allocates nothing
	namesGen                                         uint64             // value of Store.namesGen when dimensions and versions were created
}

// maxDimensions bounds the number of cached names.
const maxDimensions = 4096

// refreshCaches drops the caches of row ids by name when namesGen has changed, because rows may
// have been deleted.
func (in *inserter) refreshCaches(gen uint64) {
	if in.dimensions == nil || in.namesGen != gen || len(in.dimensions)+len(in.versions) > maxDimensions {
		in.dimensions, in.versions, in.namesGen = make(map[dimension]int64), make(map[versionKey]any), gen
	}
}

// tables returns the tables in the order in which they are written.
func (in *inserter) tables() []*insertedRows {
	if in.call == nil {
		in.call = newInsertedRows(`call (id, at, server_id, target_id, client_id, session_id, workspace_id, modern, from_server, outcome, code,
			took_ns, queued_ns, bytes_in, bytes_out, attempts, progress, version_id, account_id)`)
		in.pending = newInsertedRows(`pending (id, counted)`)
		in.body = newInsertedRows(`body (id, public_name, instance, trace_id, shim, reason, reply_is_error, arguments_enc, reply_enc,
			arguments_size, arguments_hash, reply_size, reply_hash, arguments, reply)`)
		in.attributes = newInsertedRows(`call_attributes (call_id, cached, approval)`)
		in.stack = newInsertedRows(`stack_trace (call_id, text)`)
		in.progress = newInsertedRows(`progress_log (call_id, notifications)`)
	}
	return []*insertedRows{in.call, in.pending, in.body, in.attributes, in.stack, in.progress}
}
