package policy

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

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

// roundUp rounds a duration up to a readable one.
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
