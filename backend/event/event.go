package event

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Kind names what an Event holds. It is the SSE event name of the API's stream.
type Kind string

const (
	Server  Kind = "server"  // Data is a core.ServerStatus
	Removed Kind = "removed" // Data is the id of a server that is no longer configured
	Call    Kind = "call"    // Data is a core.Call without Params: once at its start, once at its end
	Catalog Kind = "catalog" // Data is the id of the server whose catalog changed
	Config  Kind = "config"  // Data is a ConfigChange
	Health  Kind = "health"  // Data is a Notice: something the user should know
	// Approval is something that waits for the user, and its end: Data is an approvals.Item
	// whose State is "" while it waits.
	Approval Kind = "approval"
	Policy   Kind = "policy" // Data is a policy.BreakerStatus: a server begins or ends its rest
)

// ConfigChange tells that a configuration was applied or refused.
type ConfigChange struct {
	Applied  bool     `json:"applied"`
	Problems []string `json:"problems,omitempty"` // with file, line and column
	Changed  []string `json:"changed,omitempty"`  // ids of servers that were added, changed or removed
}

// CommandSubject begins the subject of a notice about a command that runs without having
// been asked for; the server's id follows.
const CommandSubject = "command:"

// Notice is one sentence for the user, such as "recording paused: disk full".
// An empty Message takes the notice of that Subject back.
type Notice struct {
	Subject string `json:"subject"`
	Message string `json:"message"`
}

// Event is one change. Data is a value or read-only; its type follows from Kind.
type Event struct {
	Seq  uint64 // grows by one with every event of the bus
	Kind Kind
	Data any
}

// Bus hands each event to every subscriber, in the order of publishing.
// The zero Bus is ready to use. All methods may be called from any goroutine.
type Bus struct {
	active atomic.Int32
	calls  atomic.Int32 // subscriptions that get calls

	mu   sync.Mutex
	seq  uint64
	subs map[*Subscription]struct{}
}

// Active reports whether anybody listens.
func (b *Bus) Active() bool { return b.active.Load() > 0 }

// Publish never blocks. A subscriber whose queue is full is closed: it has to
// subscribe again and start from a new snapshot.
func (b *Bus) Publish(kind Kind, data any) {
	if !b.Active() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq++
	for s := range b.subs {
		if !s.wants(kind) {
			continue
		}
		select {
		case s.c <- Event{Seq: b.seq, Kind: kind, Data: data}:
		default:
			b.remove(s)
		}
	}
}

// PublishCall publishes call without its payload. It costs nothing while no
// subscription gets calls.
func (b *Bus) PublishCall(call *core.Call) {
	if b.calls.Load() == 0 {
		return
	}
	c := *call
	c.Params, c.Capabilities, c.Arguments, c.Meta, c.ProgressToken = nil, nil, core.Span{}, core.Span{}, core.Span{}
	b.Publish(Call, c)
}

// Subscribe starts a subscription that holds at most size events that were not
// read yet, of the kinds given, or of all. Whoever has no use for calls should not get
// them: there may be thousands in a second, and each costs its own path. Take the snapshot after Subscribe has returned: whatever changes
// later is then in the queue, and whatever is in both is the same state twice.
func (b *Bus) Subscribe(size int, kinds ...Kind) *Subscription {
	s := &Subscription{bus: b, c: make(chan Event, size), kinds: kinds}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs == nil {
		b.subs = make(map[*Subscription]struct{})
	}
	b.subs[s] = struct{}{}
	b.active.Add(1)
	if s.wants(Call) {
		b.calls.Add(1)
	}
	return s
}

// remove must be called with b.mu held.
func (b *Bus) remove(s *Subscription) {
	if _, ok := b.subs[s]; ok {
		delete(b.subs, s)
		b.active.Add(-1)
		if s.wants(Call) {
			b.calls.Add(-1)
		}
		close(s.c)
	}
}

// Subscription is one reader of a Bus. Close it when done.
type Subscription struct {
	bus   *Bus
	c     chan Event
	kinds []Kind // none: all
}

func (s *Subscription) wants(kind Kind) bool {
	return len(s.kinds) == 0 || slices.Contains(s.kinds, kind)
}

// Events is closed by Close, and when the reader was too slow.
func (s *Subscription) Events() <-chan Event { return s.c }

// Close ends the subscription. A second Close does nothing.
func (s *Subscription) Close() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.bus.remove(s)
}
