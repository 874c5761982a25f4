package store

import (
	"context"
	"database/sql"
	"slices"
	"sort"
	"strings"
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

// lowPressure reports whether a batch may pause between statements: the queue is short and no
// caller waits in Flush.
func (r *Recorder) lowPressure() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) < batchRows/4 && r.flushed == nil
}

// lightLoad reports whether the queue holds a few calls and no caller waits in Flush. The indexer
// then pauses between rows, so that it does not delay the clients on a machine with few
// processors.
func (r *Recorder) lightLoad() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) > 0 && len(r.queue) < batchRows/4 && r.flushed == nil
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

// inserter inserts the rows of calls, several with one statement. It is used by one goroutine,
// within the transaction that begin was called with.
type inserter struct {
	tx          *transaction // the transaction of the current batch
	call        insertBuffer
	commonCall  insertBuffer // calls that have the constant values of commonCallRow
	retriedCall insertBuffer // calls that may exist already, after a failed attempt
	body        insertBuffer
	shortBody   insertBuffer // bodies that have the constant values of shortBodyRow
	pending     insertBuffer
	compressor  payload.Compressor
	throttle    writeThrottle

	dimensions map[dimension]int64
	versions   map[versionKey]any // of int64, so that binding one allocates nothing
	namesGen   uint64             // value of Store.namesGen when dimensions and versions were created
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

// insertRows is the maximum number of calls per statement.
const insertRows = 32

// Inserting several rows with one statement shares its cursors, which account for a third of the
// cost of a row. "OR FAIL" prevents SQLite from copying each page before the statement changes it,
// which would only be needed to roll back a failed statement: the whole transaction is rolled back
// anyway.
var (
	callBatchSizes = batchSizes{32, 8, 1}
	singleRow      = batchSizes{1}
)

// batchSizes are the numbers of rows per statement, in descending order down to 1.
type batchSizes [3]int

// insertBuffer buffers the rows that will be inserted into one table.
type insertBuffer struct {
	columns    int
	batchSizes batchSizes
	text       [len(batchSizes{})]string
	stmts      [len(batchSizes{})]*sql.Stmt // prepared in the transaction on first use
	values     []any
	throttle   *writeThrottle
}

// Columns and value lists of the INSERT statements. Values that nearly all calls share are
// literals, because binding a value costs as much as storing it.
const (
	callInsertColumns = `id, at, server_id, target_id, client_id, session_id, workspace_id, modern, from_server, outcome, code, took_ns, queued_ns, bytes_in, bytes_out, attempts, progress, version_id, account_id`
	callRow           = `(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	commonCallRow     = `(?,?,?,?,?,?,NULL,?,0,?,'',?,?,?,?,1,0,?,NULL)`
	bodyInsertColumns = `id, public_name, instance, trace_id, shim, reason, reply_is_error, arguments_enc, reply_enc, arguments_size, arguments_hash, reply_size, reply_hash, arguments, reply`
	bodyRow           = `(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	shortBodyRow      = `(?,?,?,'','','',0,0,0,NULL,NULL,NULL,NULL,?,?)`
)

func (in *inserter) begin(tx *transaction) {
	in.tx = tx
	for _, t := range []struct {
		rows  *insertBuffer
		steps batchSizes
		into  string
		row   string
		where string
	}{
		{&in.call, callBatchSizes, `call (` + callInsertColumns + `)`, callRow, ""},
		{&in.commonCall, callBatchSizes, `call (` + callInsertColumns + `)`, commonCallRow, ""},
		{&in.retriedCall, singleRow, `call (` + callInsertColumns + `)`, callRow, ` ON CONFLICT (id) DO NOTHING`},
		{&in.body, callBatchSizes, `body (` + bodyInsertColumns + `)`, bodyRow, ""},
		{&in.shortBody, callBatchSizes, `body (` + bodyInsertColumns + `)`, shortBodyRow, ""},
		{&in.pending, callBatchSizes, `pending (id, counted)`, `(?,1)`, ""},
	} {
		t.rows.columns, t.rows.batchSizes, t.rows.throttle = strings.Count(t.row, "?"), t.steps, &in.throttle
		for i, n := range t.steps {
			if n == 0 {
				break
			}
			t.rows.stmts[i] = nil
			if t.rows.text[i] != "" {
				continue
			}
			t.rows.text[i] = `INSERT OR FAIL INTO ` + t.into + ` VALUES ` + t.row + strings.Repeat(`,`+t.row, n-1) + t.where
		}
		t.rows.clear()
	}
}

func (in *inserter) clearBuffers() {
	for _, t := range in.tables() {
		t.clear()
	}
	in.compressor.Reset()
}

// tables returns the tables in the order in which they are written.
func (in *inserter) tables() [6]*insertBuffer {
	return [...]*insertBuffer{&in.call, &in.commonCall, &in.retriedCall, &in.body, &in.shortBody, &in.pending}
}

// flush inserts all buffered rows.
func (in *inserter) flush() error {
	defer in.clearBuffers()
	for _, t := range in.tables() {
		if _, err := t.flush(in.tx); err != nil {
			return err
		}
	}
	return nil
}

func (t *insertBuffer) add(values ...any) {
	t.values = append(t.values, values...)
}

func (t *insertBuffer) clear() {
	clear(t.values)
	t.values = t.values[:0]
}

// flush inserts the buffered rows with as few statements as possible, and returns the number of
// rows inserted. It uses a context that cannot be cancelled, because a cancellable one costs a
// goroutine per statement.
func (t *insertBuffer) flush(tx *transaction) (inserted int64, err error) {
	defer t.clear()
	for rest := t.values; len(rest) > 0; {
		step := 0
		for t.batchSizes[step]*t.columns > len(rest) {
			step++
		}
		some := rest[:t.batchSizes[step]*t.columns]
		rest = rest[len(some):]
		if t.stmts[step] == nil {
			if t.stmts[step], err = tx.PrepareContext(context.Background(), t.text[step]); err != nil {
				return inserted, err
			}
		}
		result, err := t.stmts[step].ExecContext(context.Background(), some...)
		if err != nil {
			return inserted, err
		}
		t.throttle.pause()
		n, err := result.RowsAffected()
		if err != nil {
			return inserted, err
		}
		inserted += n
	}
	return inserted, nil
}
