package bridge

import (
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
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

// holdResult reserves budget for a result, or returns an error result instead of it. Lists are
// shared by all clients and need no budget.
func (b *Bridge) holdResult(rq *request, result methodResult) (methodResult, *rpcError, func()) {
	n := int64(len(result.head) + len(result.tail))
	if _, list := listMethods[rq.method]; list {
		n = 0
	}
	release, ok := b.resultBudget.acquire(rq.client.Token, n)
	if ok {
		return result, nil, release
	}
	err := core.Errorf(core.CodeUnavailable, "the result of %d bytes was dropped: too many large results have not been read", n)
	err.Hint = "Read the pending results, and request less at once. The call was made and is in the history."
	left, rpcErr := b.buildResult(rq, "", "", core.Reply{}, err)
	return left, rpcErr, func() {}
}
