package bridge

import (
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// resultBudget limits the bytes of large results that clients have not read yet, in total and for
// each client. acquire does not wait, because a waiting call would keep its result in memory.
type resultBudget struct {
	all, each int64 // limits in bytes: of all clients together, and per client

	mu   sync.Mutex
	held int64
	by   map[string]int64 // held bytes by token name
}

// acquire reserves n bytes if the limits allow it. The caller must call release after the result is
// written or discarded.
func (u *resultBudget) acquire(client string, n int64) (release func(), ok bool) {
	if n <= smallBody {
		return func() {}, true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held+n > u.all || u.by[client]+n > u.each {
		return nil, false
	}
	u.add(client, n)
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.add(client, -n)
	}, true
}

func (u *resultBudget) add(client string, n int64) {
	u.held += n
	if u.by[client] += n; u.by[client] == 0 {
		delete(u.by, client)
	}
}

// holdResult reserves budget for a result, or returns an error result instead of it. Lists are
// shared by all clients and need no budget.
func (b *Bridge) holdResult(rq *request, result methodResult) (methodResult, *rpcError, func()) {
	n := int64(len(result.head) + len(result.tail))
	if _, list := listKinds[rq.method]; list {
		n = 0
	}
	release, ok := b.resultBudget.acquire(rq.client.Token, n)
	if ok {
		return result, nil, release
	}
	err := core.Errorf(core.CodeUnavailable, "the result of %d bytes was left out: too many large results wait to be read", n)
	err.Hint = "Read what was asked for, and ask for less at once. The call itself was made; the history has it."
	left, f := b.finish(rq, "", "", core.Reply{}, err)
	return left, f, func() {}
}
