package bridge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// smallBodySize is the size up to which a body needs no budget. The small bodies of all
	// connections that can be open at the same time take at most 64 MiB.
	smallBodySize = 64 << 10
	// bodyBudgetTimeout is how long a large body waits for budget.
	bodyBudgetTimeout = 10 * time.Second
)

var errBodyBudget = errors.New("too many large requests are in flight: send it again later")

// bodyBudget limits the bytes of large request bodies that are in memory at the same time. The
// budget for a body is acquired before the body is read and released when its request ends. It is
// acquired at once, so that two half-read bodies cannot deadlock. A client that does not send the
// announced body is disconnected by the read deadline, which releases its budget.
type bodyBudget struct {
	semaphore *semaphore.Weighted
	timeout   time.Duration
}

// acquire waits until n bytes are available. The caller must call release to release them.
func (b *bodyBudget) acquire(ctx context.Context, n int64) (release func(), err error) {
	if n <= smallBodySize {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	if b.semaphore.Acquire(ctx, n) != nil {
		return func() {}, errBodyBudget
	}
	return func() { b.semaphore.Release(n) }, nil
}

// readBody reads at most MaxBody bytes. The caller must call release when the request ends.
func (b *Bridge) readBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	release = func() {}
	switch {
	case r.ContentLength > b.MaxBody:
		return nil, release, &http.MaxBytesError{Limit: b.MaxBody}
	case r.ContentLength >= 0:
		if release, err = b.bodyBudget.acquire(r.Context(), r.ContentLength); err != nil {
			return nil, release, err
		}
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
		return body, release, err
	}
	from := http.MaxBytesReader(w, r.Body, b.MaxBody)
	body, err = io.ReadAll(io.LimitReader(from, smallBodySize))
	if err != nil || len(body) < smallBodySize {
		return body, release, err
	}
	if release, err = b.bodyBudget.acquire(r.Context(), b.MaxBody); err != nil {
		return nil, release, err
	}
	rest, err := io.ReadAll(from)
	return append(body, rest...), release, err
}
