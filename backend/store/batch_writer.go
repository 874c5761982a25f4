package store

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Run writes what was recorded, in batches of 50 ms or 512 calls, until ctx ends;
// then it writes what is left, for at most 3 s. It never returns an error: what goes
// wrong with the disk is in Stats.
func (r *Recorder) Run(ctx context.Context) error {
	indexing, stopIndexing := context.WithCancel(ctx)
	var index sync.WaitGroup
	index.Go(func() { r.store.runIndexing(indexing) })
	index.Go(func() { r.store.runPacking(indexing) })
	index.Go(func() { r.store.runRetention(indexing) }) // not here: calls would wait for all of its steps
	defer index.Wait()
	defer stopIndexing()
	look := time.NewTicker(tidyEvery)
	defer look.Stop()
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
		case <-look.C:
			r.shrink()
			r.store.fillReservedSpace()
		}
	}
}

// waitForBatch lets a batch grow until its first call has waited for batchDelay, unless it is
// large already or somebody waits.
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

// remainingDelay is what remains of batchDelay for the first call of the queue: it may have
// ended while the batch before was written.
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

// calm reports whether a batch may take its time: few calls wait behind it, and nobody
// waits for them.
func (r *Recorder) calm() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) < batchRows/4 && r.flushed == nil
}

// disturbed reports whether calls were made since the last batch, and few: whoever works
// beside them then leaves them the processor now and then.
func (r *Recorder) disturbed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) > 0 && len(r.queue) < batchRows/4 && r.flushed == nil
}

// faulty reports whether the last write failed.
func (r *Recorder) faulty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fault != faultNone
}

// progress returns how many calls, and bytes of their payloads, went to the disk or
// were given up.
func (r *Recorder) progress() (calls, bytes uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written, r.volume
}

func (r *Recorder) pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) > 0
}

// writeBatch writes one batch. It returns how long to wait before the next try; 0 when the
// batch is done with.
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
	err := r.store.write(ctx, batch)
	f := faultOf(err)
	if ctx.Err() != nil && err != nil {
		f = faultOther // says nothing about the disk
	} else if f == faultOther && r.store.broken() {
		r.requeue(batch) // somebody found the file damaged or gone; the next step says so
		return time.Millisecond
	} else if f == faultOther && err != nil {
		r.store.o.Log.Error("Cannot write calls", "calls", len(batch), "error", err)
		batch = r.writeOneByOne(ctx, batch)
		f = faultNone
	}
	if f == faultNone {
		r.forgetBatch(batch)
		r.setFault(faultNone)
		return 0
	}
	r.requeue(batch)
	if f == faultFull && r.store.dropReservedSpace() {
		return time.Millisecond // there is room again, for a while
	}
	if ctx.Err() == nil {
		r.setFault(f)
	}
	r.wakeFlushers()
	return retryDelay
}

// writeRate is how many calls are written in a second.
type writeRate struct {
	since     time.Time
	calls     uint64 // written until then
	perSecond float64
}

func (p *writeRate) record(now time.Time, calls uint64) {
	if past := now.Sub(p.since); past >= time.Second {
		p.perSecond = float64(calls-p.calls) / past.Seconds()
		p.since, p.calls = now, calls
	}
}

// busy reports whether many calls were written in the last second.
func (r *Recorder) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rate.perSecond > quietCalls && time.Since(r.rate.since) < 3*time.Second
}

// nextBatch hands out the oldest calls of the queue, in the order of their ids: calls end in
// another order than they began in, and SQLite is fastest where each row is the last one.
func (r *Recorder) nextBatch() []entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.queue), batchRows)
	r.order = r.order[:0]
	for i := range n {
		r.order = append(r.order, queuePosition{r.queue[i].call.ID, i})
	}
	slices.SortFunc(r.order, func(a, b queuePosition) int { return cmp.Compare(a.id, b.id) })
	r.batch = r.batch[:0]
	for _, p := range r.order {
		r.batch = append(r.batch, r.queue[p.at])
	}
	rest := copy(r.queue, r.queue[n:])
	clear(r.queue[rest:])
	r.queue = r.queue[:rest]
	r.taken = n
	return r.batch
}

// shrink lets go of an array that was for much more than waits now.
func (r *Recorder) shrink() {
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
		batch[i].again = true
	}
	r.queue = slices.Concat(batch, r.queue)
	r.taken = 0
}

// forgetBatch forgets a batch that is on disk.
func (r *Recorder) forgetBatch(batch []entry) {
	r.mu.Lock()
	for i := range batch {
		r.held -= batch[i].held
		if batch[i].payload != nil {
			r.bytes -= len(*batch[i].payload)
			r.volume += uint64(len(*batch[i].payload))
			free(batch[i].payload)
		}
	}
	clear(batch)
	r.written += uint64(len(batch))
	r.rate.record(time.Now(), r.written)
	r.taken = 0
	more := len(r.queue) > 0
	r.mu.Unlock()
	r.wakeFlushers()
	if more {
		r.wakeUp()
	}
}

// wakeFlushers lets those go on who wait in Flush; they look again.
func (r *Recorder) wakeFlushers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flushed != nil {
		close(r.flushed)
		r.flushed = nil
	}
}

// writeOneByOne writes a batch call by call, since one of them may be what no table takes.
// What cannot be written is dropped and counted.
func (r *Recorder) writeOneByOne(ctx context.Context, batch []entry) []entry {
	lost := 0
	for i := range batch {
		batch[i].again = true
		if err := r.store.write(ctx, batch[i:i+1]); err != nil {
			lost++
		}
	}
	r.mu.Lock()
	r.dropped += uint64(lost)
	r.mu.Unlock()
	return batch
}

// discard drops what waits for a file that will not be written in this run.
func (r *Recorder) discard() {
	r.mu.Lock()
	batch := r.queue
	r.queue = nil
	r.dropped += uint64(len(batch))
	r.mu.Unlock()
	r.forgetBatch(batch)
}
