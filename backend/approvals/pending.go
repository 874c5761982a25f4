package approvals

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Source is a feature with approvals that have no deadline, and are therefore not in the inbox. Their
// ids begin with the kind and a colon.
type Source interface {
	PendingKind() Kind
	Pending() []Item
	Answer(ctx context.Context, id, action string) (ended bool, err error)
}

// withoutDeadline lists the approvals without a deadline.
func (f *Feature) withoutDeadline() (list []Item) {
	for _, from := range f.Sources {
		list = append(list, from.Pending()...)
	}
	return list
}

// Run publishes approvals without a deadline until ctx ends.
func (f *Feature) Run(ctx context.Context) error {
	f.waiting.follow(ctx, f.Bus, f.withoutDeadline)
	return nil
}

// pendingTracker publishes which approvals without a deadline start and stop waiting: the supervisor publishes only the
// states of servers.
type pendingTracker struct {
	mu    sync.Mutex // guards known
	known map[string]Item
}

// publishChanges publishes the differences since its last run.
func (w *pendingTracker) publishChanges(bus *core.Bus, list func() []Item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := make(map[string]Item)
	for _, item := range list() {
		now[item.ID] = item
		if _, old := w.known[item.ID]; !old {
			bus.Publish(core.ApprovalEvent, item)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.known)) {
		if _, still := now[id]; !still {
			gone := w.known[id]
			gone.State = Withdrawn
			bus.Publish(core.ApprovalEvent, gone)
		}
	}
	w.known = now
}

func (w *pendingTracker) publishEnd(bus *core.Bus, id, state string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if item, ok := w.known[id]; ok {
		delete(w.known, id)
		item.State = state
		bus.Publish(core.ApprovalEvent, item)
	}
}

// follow runs compare whenever a server changed.
func (w *pendingTracker) follow(ctx context.Context, bus *core.Bus, list func() []Item) {
	for ctx.Err() == nil {
		sub := bus.Subscribe(1024, core.ServerEvent, core.RemovedEvent, core.ConfigEvent, core.CatalogEvent)
		w.publishChanges(bus, list)
		w.consumeEvents(ctx, sub, bus, list)
		sub.Close()
	}
}

func (w *pendingTracker) consumeEvents(ctx context.Context, sub *core.Subscription, bus *core.Bus, list func() []Item) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-sub.Events():
			if !open {
				return
			}
			// One run covers all queued events: thousands of servers may change together.
			for n := len(sub.Events()); n > 0 && open; n-- {
				_, open = <-sub.Events()
			}
			w.publishChanges(bus, list)
		}
	}
}
