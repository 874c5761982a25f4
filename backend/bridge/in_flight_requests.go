package bridge

import (
	"context"
	"sync"
	"time"
)

// inFlightRequests holds the requests that have not been answered.
type inFlightRequests struct {
	mu         sync.Mutex
	byResponse map[*responseWriter]inFlightRequest
	stopped    bool
}

type inFlightRequest struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (r *inFlightRequests) add(response *responseWriter, cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byResponse == nil {
		r.byResponse = map[*responseWriter]inFlightRequest{}
	}
	timer := time.AfterFunc(response.keepAliveInterval, func() { r.keepAlive(response) })
	r.byResponse[response] = inFlightRequest{cancel, timer}
	if r.stopped {
		cancel(errStopped)
	}
}

func (r *inFlightRequests) remove(response *responseWriter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one, ok := r.byResponse[response]; ok {
		one.timer.Stop()
	}
	delete(r.byResponse, response)
}

func (r *inFlightRequests) keepAlive(response *responseWriter) {
	left := response.keepAliveInterval - response.sinceLastWrite()
	if left <= 0 {
		response.sendKeepAlive()
		left = response.keepAliveInterval
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if one, ok := r.byResponse[response]; ok && !r.stopped {
		one.timer.Reset(left)
	}
}

// cancelAll cancels all requests, and those that are added later.
func (r *inFlightRequests) cancelAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	for _, one := range r.byResponse {
		one.cancel(errStopped)
	}
}
