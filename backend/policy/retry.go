package policy

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
)

// ShouldRetry reports whether a call that failed with err may be retried, and after which pause.
// tries is the number of attempts so far; sent reports whether the call was sent to the server. A
// call that may have reached the server is retried only if the server is trusted and the call is
// read-only or idempotent.
func (plan *Plan) ShouldRetry(call *core.Call, tries int, err error, sent bool) (pause time.Duration, again bool) {
	if plan.tool == nil || tries > plan.tool.retry.Attempts {
		return 0, false
	}
	r := &plan.tool.retry
	e, ours := errors.AsType[*core.Error](err)
	if !ours || e.Code != core.CodeUnavailable || !e.Retriable {
		return 0, false // a response, a timeout or a permanent error
	}
	if sent && !e.Unsent && !plan.repeatable(call) {
		return 0, false
	}
	if n := len(r.Delays); n > 0 {
		return r.Delays[min(tries, n)-1], true
	}
	pause = r.Backoff << min(tries-1, 30)
	if pause <= 0 || pause > r.MaxBackoff {
		pause = r.MaxBackoff
	}
	return pause/2 + rand.N(pause/2+1), true
}

// repeatable reports whether a call may be repeated, according to the hints of a trusted server.
func (plan *Plan) repeatable(call *core.Call) bool {
	if !plan.server.trust {
		return false
	}
	return call.Method != "tools/call" || plan.hints.ReadOnly == registry.Yes || plan.hints.Idempotent == registry.Yes
}
