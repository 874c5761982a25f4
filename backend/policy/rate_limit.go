package policy

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// maxBuckets bounds the callers and tools that one limit tells apart. Who comes when
// all are in use shares the bucket of the nameless.
const maxBuckets = 4096

// buckets are the token buckets of one limit, one for each caller and tool.
type buckets struct {
	limit     rate.Limit
	burst     int
	bySession bool
	client    string // whose limit it is, "" for one of all clients
	setting   string // the key that it comes from, below the server's or policy.clients

	mu  sync.Mutex // guards all
	all map[bucketKey]*rate.Limiter
}

type bucketKey struct{ who, tool string }

// newBuckets returns nil for no limit, and was where that is the same limit.
func newBuckets(c config.RateLimit, client, setting string, was *buckets) *buckets {
	if c.PerSecond <= 0 {
		return nil
	}
	b := &buckets{limit: rate.Limit(c.PerSecond), burst: max(c.Burst, 1), bySession: c.By == config.BySession, client: client, setting: setting}
	if was != nil && was.limit == b.limit && was.burst == b.burst && was.bySession == b.bySession && was.setting == b.setting {
		return was
	}
	b.all = make(map[bucketKey]*rate.Limiter)
	return b
}

// limit returns the buckets of a client's calls: its own for the tool, else its own,
// else those of the tool, else those of the server.
func (t *tool) limit(token string) *buckets {
	if own := t.ownLimits[token]; own != nil {
		return own
	}
	return t.buckets
}

// rateOf refuses a call of a tool that its caller calls too often.
func rateOf(call *core.Call, t *tool) error {
	b := t.limit(call.Client.Token)
	if b == nil || call.Method != "tools/call" || call.Continues {
		return nil
	}
	wait := b.takeToken(b.key(call), time.Now())
	if wait == 0 {
		return nil
	}
	e := core.Errorf(core.CodeRateLimited, "tool %q of server %q may be called %s (%s)", call.Name, call.Server, b, b.setting)
	e.Hint = fmt.Sprintf("Try again in %s.", atLeast(wait))
	e.Retriable = true
	return e
}

// takeToken takes a token, or says how long it is until there is one.
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
		who = "\x00" + call.Client.Name // as it claims
	}
	if b.bySession {
		switch {
		case call.Session != "":
			who = call.Session
		case call.Shim != "":
			who = call.Shim
		}
	}
	return bucketKey{who, call.Name}
}

func (b *buckets) bucket(key bucketKey, now time.Time) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.all[key]; l != nil {
		return l
	}
	if len(b.all) >= maxBuckets {
		for k, l := range b.all {
			if l.TokensAt(now) >= float64(b.burst) { // as good as new
				delete(b.all, k)
			}
		}
		if len(b.all) >= maxBuckets {
			key = bucketKey{}
			if l := b.all[key]; l != nil {
				return l
			}
		}
	}
	l := rate.NewLimiter(b.limit, b.burst)
	b.all[key] = l
	return l
}

// String says the limit in words.
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
	return fmt.Sprintf("%g times a second by %s, %d at once", float64(b.limit), by, b.burst)
}

// atLeast rounds up to what the user can read.
func atLeast(d time.Duration) time.Duration {
	unit := time.Second
	if d < time.Second {
		unit = 10 * time.Millisecond
	}
	return (d + unit - 1).Truncate(unit)
}

// peek is take that takes nothing.
func (b *buckets) peek(key bucketKey) time.Duration {
	b.mu.Lock()
	l := b.all[key]
	b.mu.Unlock()
	now := time.Now()
	if l == nil || l.TokensAt(now) >= 1 {
		return 0
	}
	return time.Duration((1 - l.TokensAt(now)) / float64(b.limit) * float64(time.Second))
}
