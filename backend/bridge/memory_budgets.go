package bridge

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// resultBudget limits the bytes of large results that clients have not read yet, in total and for
// each client. acquire does not wait, because a waiting call would keep its result in memory.
type resultBudget struct {
	total, perClient int64 // limits in bytes: of all clients together, and per client

	mu     sync.Mutex
	held   int64
	heldBy map[string]int64 // held bytes by token name
}

// acquire reserves n bytes if the limits allow it. The caller must call release after the result is
// written or discarded.
func (b *resultBudget) acquire(client string, n int64) (release func(), ok bool) {
	if n <= smallBodySize {
		return func() {}, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held+n > b.total || b.heldBy[client]+n > b.perClient {
		return nil, false
	}
	b.add(client, n)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.add(client, -n)
	}, true
}

func (b *resultBudget) add(client string, n int64) {
	b.held += n
	if b.heldBy[client] += n; b.heldBy[client] == 0 {
		delete(b.heldBy, client)
	}
}

// streamLimiter limits the number of streams that each client holds open at the same time.
type streamLimiter struct {
	limit int

	mu   sync.Mutex
	held map[string]int
	idle chan struct{} // closed when no slot is held; nil unless waitIdle is running
}

func newStreamLimiter(limit int) *streamLimiter {
	return &streamLimiter{limit: limit, held: map[string]int{}}
}

// acquire acquires a slot for a client if one is free. On success, the caller must call release.
func (l *streamLimiter) acquire(client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[client] >= l.limit {
		return false
	}
	l.held[client]++
	return true
}

func (l *streamLimiter) release(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[client]--; l.held[client] <= 0 {
		delete(l.held, client)
	}
	if len(l.held) == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// waitIdle waits until no slot is held, for at most limit. Only one goroutine may wait.
func (l *streamLimiter) waitIdle(limit time.Duration) {
	l.mu.Lock()
	if len(l.held) == 0 {
		l.mu.Unlock()
		return
	}
	empty := make(chan struct{})
	l.idle = empty
	l.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-empty:
	case <-timer.C:
	}
}

const (
	// smallBodySize is the size up to which a body needs no budget. The small bodies of all
	// connections that can be open at the same time take at most 64 MiB.
	smallBodySize = 64 << 10
	// bodyBudgetTimeout is how long a large body waits for budget. It is longer than the calls that
	// hold the budget usually take, so that clients are slowed down and get no errors.
	bodyBudgetTimeout = 5 * time.Minute
	// bodyReadTimeout is how long the body may take to arrive after it got budget.
	bodyReadTimeout = 30 * time.Second
)

var errBodyBudget = errors.New("too many large requests are in flight: send this request again later")

// bodyBudget limits the bytes of large request bodies that are in memory at the same time, and with
// them the number of large calls in flight. Bodies wait in the order of their arrival; meanwhile
// they stay in the buffers of the kernel and of the client. The budget for a body is acquired
// before the body is read and released when its request ends. It is acquired at once, so that two
// half-read bodies cannot deadlock. A client that does not send the announced body is disconnected
// by the read deadline, which releases its budget.
type bodyBudget struct {
	semaphore *semaphore.Weighted
	timeout   time.Duration
}

// acquire waits until n bytes are available. The caller must call release to release them.
func (b *bodyBudget) acquire(w http.ResponseWriter, r *http.Request, n int64) (release func(), err error) {
	if n <= smallBodySize {
		return func() {}, nil
	}
	if !b.semaphore.TryAcquire(n) {
		ctx, cancel := context.WithTimeout(r.Context(), b.timeout)
		defer cancel()
		if b.semaphore.Acquire(ctx, n) != nil {
			return func() {}, errBodyBudget
		}
		// The read deadline that was set when the request arrived may have passed meanwhile.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyReadTimeout))
	}
	return func() { b.semaphore.Release(n) }, nil
}
