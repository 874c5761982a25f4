package bridge

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// statePrefix distinguishes our request states from those of servers, even after a restart. The
// rest of a state is random.
const statePrefix = "drawbridge:"

// suspendedCalls holds the calls that wait for a repeated request, by their states. The zero
// value is ready to use.
type suspendedCalls struct {
	mu      sync.Mutex
	byState map[string]*suspendedEntry
}

// suspendedEntry is one suspended call and the digest of the only request that may resume it.
type suspendedEntry struct {
	*suspendedCall
	timer  *time.Timer
	digest [sha256.Size]byte
}

// Limits of suspended calls: in total and for each client.
const (
	maxSuspended         = 256
	maxSuspendedPerToken = 32
)

// add stores a suspended call and returns the state that resumes it, once. After limit the
// call is cancelled. ok is false when there are too many.
func (t *suspendedCalls) add(sc *suspendedCall, limit time.Duration) (state string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := 0
	for _, other := range t.byState {
		if other.rq.client.Token == sc.rq.client.Token {
			same++
		}
	}
	if len(t.byState) >= maxSuspended || same >= maxSuspendedPerToken {
		return "", false
	}
	if t.byState == nil {
		t.byState = map[string]*suspendedEntry{}
	}
	state = statePrefix + rand.Text()
	entry := &suspendedEntry{suspendedCall: sc, digest: requestDigest(sc.rq)}
	entry.timer = time.AfterFunc(limit, func() {
		if t.remove(state) {
			sc.cancel(errInputTimeout)
		}
	})
	t.byState[state] = entry
	return state, true
}

var errNoLongerVisible = core.Errorf(core.CodeCancelled, "the client may no longer use this")

var errInputTimeout = core.Errorf(core.CodeTimeout, "the client did not send its input in time")

func (t *suspendedCalls) remove(state string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.byState[state]
	delete(t.byState, state)
	return ok
}

// claim removes and returns the call of a state. It returns nil, and keeps the call, if the
// state is unknown or the request is not a repetition by the same client at the same endpoint.
func (t *suspendedCalls) claim(state string, rq *request) *suspendedCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := t.byState[state]
	if entry == nil || entry.rq.client.Token != rq.client.Token || entry.rq.endpoint != rq.endpoint || entry.digest != requestDigest(rq) {
		return nil
	}
	entry.timer.Stop()
	delete(t.byState, state)
	return entry.suspendedCall
}

// requestDigest hashes the method and params of a request, without the members that differ
// when it is repeated. Equal JSON values give equal digests, however they are written.
func requestDigest(rq *request) [sha256.Size]byte {
	decoder := json.NewDecoder(bytes.NewReader(rq.params))
	decoder.UseNumber()
	var params map[string]any
	_ = decoder.Decode(&params)
	for _, key := range []string{"_meta", "inputResponses", "requestState"} {
		delete(params, key)
	}
	canonical, _ := json.Marshal(params)
	return sha256.Sum256(append([]byte(rq.method+"\n"), canonical...))
}
