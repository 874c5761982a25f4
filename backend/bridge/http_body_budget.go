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
	// smallBody is the size up to which a body needs no budget. The small bodies of all connections
	// that can be open at the same time take at most 64 MiB.
	smallBody = 64 << 10
	// bodyWait is how long a large body waits for budget.
	bodyWait = 10 * time.Second
)

var errBodyBudget = errors.New("too many large requests are under way: send it again later")

// bodyBudget limits the bytes of large request bodies that are in memory at the same time. The
// budget for a body is acquired before the body is read and released when its request ends. It is
// acquired at once, so that two half-read bodies cannot deadlock. A client that does not send the
// announced body is disconnected by the read deadline, which releases its budget.
type bodyBudget struct {
	free *semaphore.Weighted
	wait time.Duration
}

// acquire waits until n bytes are available. The caller must call leave to release them.
func (o *bodyBudget) acquire(ctx context.Context, n int64) (leave func(), err error) {
	if n <= smallBody {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	if o.free.Acquire(ctx, n) != nil {
		return func() {}, errBodyBudget
	}
	return func() { o.free.Release(n) }, nil
}

// readBody reads at most MaxBody bytes. The caller must call leave when the request ends.
func (b *Bridge) readBody(w http.ResponseWriter, r *http.Request) (body []byte, leave func(), err error) {
	leave = func() {}
	switch {
	case r.ContentLength > b.MaxBody:
		return nil, leave, &http.MaxBytesError{Limit: b.MaxBody}
	case r.ContentLength >= 0:
		if leave, err = b.bodyBudget.acquire(r.Context(), r.ContentLength); err != nil {
			return nil, leave, err
		}
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
		return body, leave, err
	}
	from := http.MaxBytesReader(w, r.Body, b.MaxBody)
	body, err = io.ReadAll(io.LimitReader(from, smallBody))
	if err != nil || len(body) < smallBody {
		return body, leave, err
	}
	if leave, err = b.bodyBudget.acquire(r.Context(), b.MaxBody); err != nil {
		return nil, leave, err
	}
	rest, err := io.ReadAll(from)
	return append(body, rest...), leave, err
}
