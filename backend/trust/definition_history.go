package trust

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// Values of Event.Action.
const (
	EventNew      = "new"      // trusted on first use
	EventChanged  = "changed"  // different from the trusted definition: withheld
	EventAccepted = "accepted" // the new definition became trusted
	EventBlocked  = "blocked"  // withheld by the user
	EventReturned = "returned" // the definition is a trusted one again
	EventWarned   = "warned"
)

// Event is an entry in the history of a definition.
type Event struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Server  string    `json:"server"`
	Kind    string    `json:"kind" enum:"tool,instructions,server,prompt,resource,template"`
	Name    string    `json:"name"`
	Action  string    `json:"action" enum:"new,changed,accepted,blocked,returned,warned"`
	Detail  string    `json:"detail"`
	OldHash string    `json:"oldHash"`
	NewHash string    `json:"newHash"`
}

// Events returns the history of a server, or of all servers for "", newest first. It saves pending
// events first. before and limit select a page; the second result is the cursor of the next page.
func (b *Baseline) Events(ctx context.Context, server string, before int64, limit int) ([]Event, int64, error) {
	if err := b.Flush(ctx); err != nil {
		b.opts.Log.Warn("Cannot save the trusted tools", "error", err)
	}
	stored, next, err := b.opts.Store.TrustEvents(ctx, server, before, limit)
	list := make([]Event, 0, len(stored))
	for _, e := range stored {
		list = append(list, toEvent(e))
	}
	return list, next, err
}

func toEvent(e store.TrustEvent) Event {
	return Event{ID: e.ID, At: e.At, Server: e.Server, Kind: e.Kind, Name: e.Name, Action: e.Action, Detail: Visible(e.Detail), OldHash: hexOf(e.OldHash), NewHash: hexOf(e.NewHash)}
}

func hexOf(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return fmt.Sprintf("%x", b)
}

// recordEvent records an event of one definition, at most perHour per hour, because some servers
// change a definition on every listing. The caller must hold b.mu.
func (b *Baseline) recordEvent(s *serverRecords, k itemKey, it *record, action, detail string, before, after *Hash) {
	now := b.opts.Now()
	if now.Sub(it.hourStart) >= time.Hour {
		it.hourStart, it.eventsInHour = now, 0
	}
	if it.eventsInHour++; it.eventsInHour > maxEventsPerHour {
		return
	}
	e := store.TrustEvent{At: now, Server: s.id, Kind: k.kind, Name: k.name, Action: action, Detail: detail}
	if before != nil {
		e.OldHash = slices.Clone(before[:])
	}
	if after != nil {
		e.NewHash = slices.Clone(after[:])
	}
	b.appendEvent(s, e)
}

func (b *Baseline) appendEvent(s *serverRecords, e store.TrustEvent) {
	if len(s.events) >= maxEvents {
		s.droppedEvents++
		return
	}
	s.events = append(s.events, e)
}
