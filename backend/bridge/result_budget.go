package bridge

import (
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// resultBudget bounds the bytes of large results that wait until their clients have read them.
// Whoever waits for room would hold its result meanwhile, so nobody waits; and no client
// takes the part that is left for the others.
type resultBudget struct {
	all, each int64 // bytes: of all clients, and of one

	mu   sync.Mutex
	held int64
	by   map[string]int64 // by the name of the token
}

// acquire takes room for n bytes, if there is some. release must be called when they are
// written, or given up.
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

// holdResult takes room for a result, or gives what says that there is none in its place. Lists
// are held for all clients together, and need none.
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
