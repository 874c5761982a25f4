package trust

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// What an event says.
const (
	EventNew      = "new"      // trusted on first sight
	EventChanged  = "changed"  // no longer what was trusted: withheld
	EventAccepted = "accepted" // the new definition is trusted now
	EventBlocked  = "blocked"  // the user wants it withheld
	EventReturned = "returned" // it reads again as it did when it was trusted
	EventWarned   = "warned"
)

// Event is something that happened to a definition.
type Event struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Server  string    `json:"server"`
	Kind    string    `json:"kind" enum:"tool,instructions,server"`
	Name    string    `json:"name"`
	What    string    `json:"what" enum:"new,changed,accepted,blocked,returned,warned"`
	Detail  string    `json:"detail"`
	OldHash string    `json:"oldHash"`
	NewHash string    `json:"newHash"`
}

// Events tells what happened, newest first.
func (b *Baseline) Events(ctx context.Context, server string, before int64, limit int) ([]Event, int64, error) {
	if err := b.Flush(ctx); err != nil {
		b.o.Log.Warn("Cannot keep which tools are trusted", "error", err)
	}
	stored, next, err := b.o.Store.TrustEvents(ctx, server, before, limit)
	list := make([]Event, 0, len(stored))
	for _, e := range stored {
		list = append(list, event(e))
	}
	return list, next, err
}

func event(e store.TrustEvent) Event {
	return Event{ID: e.ID, At: e.At, Server: e.Server, Kind: e.Kind, Name: e.Name, What: e.What, Detail: Visible(e.Detail), OldHash: hexOf(e.OldHash), NewHash: hexOf(e.NewHash)}
}

func hexOf(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return fmt.Sprintf("%x", b)
}

// recordEvent keeps an event of one definition. One that changes all the time is noted now and then.
func (b *Baseline) recordEvent(s *serverBaseline, k key, it *item, what, detail string, before, after *Hash) {
	now := b.o.Now()
	if now.Sub(it.since) >= time.Hour {
		it.since, it.noted = now, 0
	}
	if it.noted++; it.noted > perHour {
		return
	}
	e := store.TrustEvent{At: now, Server: s.id, Kind: k.kind, Name: k.name, What: what, Detail: detail}
	if before != nil {
		e.OldHash = slices.Clone(before[:])
	}
	if after != nil {
		e.NewHash = slices.Clone(after[:])
	}
	b.event(s, e)
}

func (b *Baseline) event(s *serverBaseline, e store.TrustEvent) {
	if len(s.events) >= maxEvents {
		s.lost++
		return
	}
	s.events = append(s.events, e)
}
