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
	// smallBody is what every connection may send without a question: all that the
	// port holds open together send 64 MiB so.
	smallBody = 64 << 10
	// bodyWait is how long a large body waits for others to be done with.
	bodyWait = 10 * time.Second
)

var errBodyBudget = errors.New("too many large requests are under way: send it again later")

// bodyBudget bounds the bytes of large request bodies that are held at once. A body has its room
// before it is read and until its request ends, and asks for all of it at once, so that
// two that are half read cannot wait for each other. Who does not send what it announced
// loses its connection by the deadline for bodies, and gives its room back.
type bodyBudget struct {
	free *semaphore.Weighted
	wait time.Duration
}

// acquire waits for room for n bytes. leave must be called when they are held no more.
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

// readBody reads at most MaxBody bytes. leave must be called when the request ends.
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
