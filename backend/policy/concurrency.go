package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"

	"golang.org/x/time/rate"
)

// slots limits the concurrent calls of a server. Further calls wait in a queue. A nil *slots
// imposes no limit.
type slots struct {
	server  string
	sem     chan struct{}
	queue   int64
	waiting atomic.Int64
	refused atomic.Int64
}

func newSlots(server string, c config.Concurrency) *slots {
	if c.Max <= 0 {
		return nil
	}
	return &slots{server: server, sem: make(chan struct{}, c.Max), queue: int64(c.Queue)}
}

// acquire acquires a slot for a call. It waits for at most the call's timeout. It refuses the call
// if the queue is full, which does not count as a failure of the server.
func (s *slots) acquire(ctx context.Context, call *core.Call, plan *Plan) error {
	if s == nil || strings.HasPrefix(call.Method, "tasks/") { // tasks/cancel must not wait for tasks/result
		return nil
	}
	select {
	case s.sem <- struct{}{}:
		plan.holdsSlot = true
		return nil
	default:
	}
	if s.waiting.Add(1) > s.queue {
		s.waiting.Add(-1)
		return s.refuse("the queue of server %q is full (%s in flight)", core.Plural(cap(s.sem), "call"))
	}
	defer s.waiting.Add(-1)
	began := time.Now()
	defer func() { call.Queued += time.Since(began) }()
	limit := time.NewTimer(plan.Timeout)
	defer limit.Stop()
	select {
	case s.sem <- struct{}{}:
		plan.holdsSlot = true
		return nil
	case <-limit.C:
		return s.refuse("no slot became free on server %q within %s", plan.Timeout)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *slots) refuse(format string, about any) error {
	s.refused.Add(1)
	e := core.Errorf(core.CodeRejected, format, s.server, about)
	e.Hint, e.Retriable = "Try again when fewer calls are in flight, or raise concurrency in the server's configuration.", true
	return e
}

// releaseSlot releases the slot of the call, if it has one.
func (plan *Plan) releaseSlot() {
	if plan.holdsSlot {
		plan.holdsSlot = false
		<-plan.server.slots.sem
	}
}

// maxBuckets limits the buckets of one rate limit. When all of them are in use, further callers
// share a single bucket.
const maxBuckets = 4096

// buckets holds the token buckets of one rate limit, one for each caller and tool.
type buckets struct {
	limit     rate.Limit
	burst     int
	bySession bool
	client    string // client that the limit applies to, "" for all
	setting   string // configuration key, relative to the server or starting with policy.clients

	mu       sync.Mutex // guards all
	limiters map[bucketKey]*rate.Limiter
}

type bucketKey struct{ caller, tool string }

// newBuckets returns nil if there is no limit. It returns was if the settings have not changed.
func newBuckets(c config.RateLimit, client, setting string, was *buckets) *buckets {
	if c.PerSecond <= 0 {
		return nil
	}
	b := &buckets{limit: rate.Limit(c.PerSecond), burst: max(c.Burst, 1), bySession: c.By == config.BySession, client: client, setting: setting}
	if was != nil && was.limit == b.limit && was.burst == b.burst && was.bySession == b.bySession && was.setting == b.setting {
		return was
	}
	b.limiters = make(map[bucketKey]*rate.Limiter)
	return b
}

// bucketsFor returns the rate limit for the calls of a client: that of the client for the tool,
// otherwise that of the client, otherwise that of the tool, otherwise that of the server.
func (t *tool) bucketsFor(token string) *buckets {
	if own := t.clientLimits[token]; own != nil {
		return own
	}
	return t.buckets
}

// checkRate refuses a tool call that exceeds the rate limit of its caller.
func checkRate(call *core.Call, t *tool) error {
	b := t.bucketsFor(call.Client.Token)
	if b == nil || call.Method != "tools/call" || call.Continues {
		return nil
	}
	wait := b.takeToken(b.key(call), time.Now())
	if wait == 0 {
		return nil
	}
	e := core.Errorf(core.CodeRateLimited, "rate limit for tool %q of server %q exceeded: %s (%s)", call.Name, call.Server, b, b.setting)
	e.Hint = fmt.Sprintf("Try again in %s.", roundUp(wait))
	e.Retriable = true
	return e
}

// takeToken takes a token and returns 0, or returns the time until one is available.
func (b *buckets) takeToken(key bucketKey, now time.Time) (wait time.Duration) {
	r := b.bucket(key, now).ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

func (b *buckets) key(call *core.Call) bucketKey {
	who := call.Client.Token
	if who == "" {
		who = "\x00" + call.Client.Name // self-reported
	}
	if b.bySession {
		who = cmp.Or(sessionOf(call), who)
	}
	return bucketKey{who, call.Name}
}

func (b *buckets) bucket(key bucketKey, now time.Time) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.limiters[key]; l != nil {
		return l
	}
	if len(b.limiters) >= maxBuckets {
		for k, l := range b.limiters {
			if l.TokensAt(now) >= float64(b.burst) { // a full bucket is equivalent to a new one
				delete(b.limiters, k)
			}
		}
		if len(b.limiters) >= maxBuckets {
			key = bucketKey{}
			if l := b.limiters[key]; l != nil {
				return l
			}
		}
	}
	l := rate.NewLimiter(b.limit, b.burst)
	b.limiters[key] = l
	return l
}

// String describes the limit in words.
func (b *buckets) String() string {
	by := "each client"
	switch {
	case b.bySession && b.client != "":
		by = fmt.Sprintf("each session of client %q", b.client)
	case b.bySession:
		by = "each session"
	case b.client != "":
		by = fmt.Sprintf("client %q", b.client)
	}
	noun := "calls"
	if b.limit == 1 {
		noun = "call"
	}
	return fmt.Sprintf("%g %s per second for %s, in bursts of up to %d", float64(b.limit), noun, by, b.burst)
}

func roundUp(d time.Duration) time.Duration {
	unit := time.Second
	if d < time.Second {
		unit = 10 * time.Millisecond
	}
	return (d + unit - 1).Truncate(unit)
}

// waitTime returns the time until a token is available, without taking one.
func (b *buckets) waitTime(key bucketKey) time.Duration {
	b.mu.Lock()
	l := b.limiters[key]
	b.mu.Unlock()
	now := time.Now()
	if l == nil || l.TokensAt(now) >= 1 {
		return 0
	}
	return time.Duration((1 - l.TokensAt(now)) / float64(b.limit) * float64(time.Second))
}

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
	return pause/2 + time.Duration(float64(pause/2)*core.Jitter(fmt.Sprint(call.ID))), true
}

// WithEffect returns err as the error of a call that is not retried. If the connection was lost after the call
// had been sent, it may have been executed: unless it is safe to repeat, the error says so, and is not
// retriable, because a model would repeat it.
func (plan *Plan) WithEffect(call *core.Call, err error, sent bool) error {
	e, ours := errors.AsType[*core.Error](err)
	if !ours || plan.tool == nil || !sent || e.Unsent || !e.Retriable || e.Code != core.CodeUnavailable || plan.repeatable(call) {
		return err
	}
	said := *e
	said.Retriable = false
	if !strings.Contains(e.Message, core.UnknownEffect) {
		said.Message += "; " + core.UnknownEffect
		said.Hint = strings.TrimSpace("Check whether the call had an effect before you repeat it. " + e.Hint)
	}
	return &said
}

// repeatable reports whether a call may be repeated, according to the hints of a trusted server.
func (plan *Plan) repeatable(call *core.Call) bool {
	if !plan.server.trust {
		return false
	}
	return call.Method != "tools/call" || plan.hints.ReadOnly == registry.Yes || plan.hints.Idempotent == registry.Yes
}

// Default timeouts.
const (
	DefaultTimeout = 30 * time.Second // time without a response or progress
	DefaultCeiling = 10 * time.Minute // total time, regardless of progress
	AnswerTimeout  = 2 * time.Minute  // time for a client to answer a request of a server
)

// setTimeouts sets the timeouts of a tool; zero means the default. The timeout is limited to the
// ceiling.
func (t *tool) setTimeouts(timeout, ceiling time.Duration) {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if ceiling <= 0 {
		ceiling = DefaultCeiling
	}
	if timeout >= ceiling {
		timeout, t.timeoutKey = ceiling, t.ceilingKey
	}
	t.timeout, t.ceiling = timeout, ceiling
}
