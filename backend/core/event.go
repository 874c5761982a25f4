package core

import (
	"slices"
	"sync"
	"sync/atomic"
)

// EventKind identifies the data of an Event. It is the SSE event name in the API's stream.
type EventKind string

const (
	ServerEvent  EventKind = "server"  // Data is a core.ServerStatus
	RemovedEvent EventKind = "removed" // Data is the id of a server that is no longer configured
	CallEvent    EventKind = "call"    // Data is a core.Call without Params, published at its start and at its end
	CatalogEvent EventKind = "catalog" // Data is the id of the server whose catalog changed
	ConfigEvent  EventKind = "config"  // Data is a ConfigChange
	NoticeEvent  EventKind = "health"  // Data is a Notice for the user
	// Approval reports a new or finished approvals.Item, which is Data. Its State is "" while it is
	// pending.
	ApprovalEvent EventKind = "approval"
	BreakerEvent  EventKind = "policy" // Data is a policy.BreakerStatus: a breaker has changed its state
)

// ConfigChange reports that a configuration was applied or refused.
type ConfigChange struct {
	Applied  bool     `json:"applied"`
	Problems []string `json:"problems,omitempty"` // with file, line and column
	Changed  []string `json:"changed,omitempty"`  // ids of servers that were added, changed or removed
}

// UnapprovedCommandSubject is the subject prefix of notices about a command that runs without an
// approval. The server id follows.
const UnapprovedCommandSubject = "command:"

// HeldConfigSubject is the subject of the notice about a change of the configuration that is held back.
const HeldConfigSubject = "config"

// Notice is a one-sentence message to the user, such as "recording paused: disk full". An empty
// Message withdraws the notice with that Subject.
type Notice struct {
	Subject string `json:"subject"`
	Message string `json:"message"`
}

// Event is one change. Data is a value or read-only; its type follows from EventKind.
type Event struct {
	Seq  uint64 // incremented by every event of the bus
	Kind EventKind
	Data any
}

// Bus delivers each event to all subscriptions of its kind, in the order of publishing. The zero
// value is ready to use. Its methods are safe for concurrent use.
type Bus struct {
	active atomic.Int32
	calls  atomic.Int32 // number of subscriptions that receive calls

	mu   sync.Mutex
	seq  uint64
	subs map[*Subscription]struct{}
}

// Active reports whether there are subscriptions.
func (b *Bus) Active() bool { return b.active.Load() > 0 }

// Publish sends an event to all subscriptions of its kind. It never blocks. A subscription whose
// queue is full is closed; its owner has to subscribe again and start from a new snapshot.
func (b *Bus) Publish(kind EventKind, data any) {
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

// PublishCall publishes call without its payload. It does nothing while no subscription receives
// calls.
func (b *Bus) PublishCall(call *Call) {
	if b.calls.Load() == 0 {
		return
	}
	c := *call
	c.Method = call.RecordedMethod()
	c.ProgressLog, c.Params, c.Capabilities, c.Arguments, c.Meta, c.ProgressToken = nil, nil, nil, Span{}, Span{}, Span{}
	b.Publish(CallEvent, c)
}

// Subscribe starts a subscription to events of the given kinds, or of all kinds if none is given.
// Its queue holds at most size events. Subscribe to calls only if necessary: there may be thousands
// per second, and each costs time on the call path. Take the snapshot after Subscribe returns:
// later changes are then in the queue, and a change that is in both is harmless.
func (b *Bus) Subscribe(size int, kinds ...EventKind) *Subscription {
	s := &Subscription{bus: b, c: make(chan Event, size), kinds: kinds}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs == nil {
		b.subs = make(map[*Subscription]struct{})
	}
	b.subs[s] = struct{}{}
	b.active.Add(1)
	if s.wants(CallEvent) {
		b.calls.Add(1)
	}
	return s
}

// remove closes a subscription. The caller must hold b.mu.
func (b *Bus) remove(s *Subscription) {
	if _, ok := b.subs[s]; ok {
		delete(b.subs, s)
		b.active.Add(-1)
		if s.wants(CallEvent) {
			b.calls.Add(-1)
		}
		close(s.c)
	}
}

// Subscription is a queue of events of a Bus. It must be closed after use.
type Subscription struct {
	bus   *Bus
	c     chan Event
	kinds []EventKind // all if empty
}

func (s *Subscription) wants(kind EventKind) bool {
	return len(s.kinds) == 0 || slices.Contains(s.kinds, kind)
}

// Events returns the channel of events. It is closed by Close, or if the reader is too slow.
func (s *Subscription) Events() <-chan Event { return s.c }

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.bus.remove(s)
}
