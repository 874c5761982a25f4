package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

const (
	streamQueueSize = 2048 // events that a reader may lag behind
	snapshotCalls   = 100
)

// events streams what changes: first a snapshot, then each event. It subscribes
// before it looks, so nothing falls in between; what is in both is the same twice.
func (a *API) events(w http.ResponseWriter, r *http.Request) {
	sub := a.Bus.Subscribe(streamQueueSize)
	defer sub.Close()
	a.streams.Add(1)
	defer a.streams.Add(-1)
	defer a.Approvals.Inbox.AddViewer(func() bool { return true })()
	s := web.NewStream(w)
	if s.Send(web.StreamEvent{Kind: "snapshot", Data: a.snapshot(r.Context())}) != nil {
		return
	}
	tick := time.NewTicker(web.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			if s.Comment("still here") != nil {
				return
			}
		case e, open := <-sub.Events():
			if !open || s.Send(a.waitingEvents(e, sub.Events())...) != nil {
				return // too slow: the reader begins again with a snapshot
			}
		}
	}
}

func (a *API) snapshot(ctx context.Context) Snapshot {
	calls, _, err := a.History.Store.Calls(ctx, store.Query{Limit: snapshotCalls})
	if err != nil {
		a.Log.Debug("Cannot read the newest calls", "error", err)
	}
	known := make(map[int64]bool, len(calls))
	for i := range calls {
		known[calls[i].ID] = true
	}
	for _, c := range a.History.Gateway.Running() {
		if !known[c.ID] {
			calls = append(calls, *a.History.RedactCall(&c))
		}
	}
	slices.SortFunc(calls, func(x, y core.Call) int { return int(max(-1, min(1, y.ID-x.ID))) })
	s := Snapshot{Status: a.Status(), Calls: make([]history.Call, 0, len(calls)), Approvals: a.Approvals.Pending()}
	for i := range calls {
		s.Calls = append(s.Calls, history.NewCall(&calls[i]))
	}
	return s
}

func (a *API) waitingEvents(e core.Event, more <-chan core.Event) (list []web.StreamEvent) {
	for open := true; open && len(list) <= 256; {
		list = append(list, web.StreamEvent{Kind: string(e.Kind), Data: a.eventData(e.Data)})
		select {
		case e, open = <-more:
		default:
			return list
		}
	}
	return list
}

func (a *API) eventData(data any) any {
	switch d := data.(type) {
	case core.Call:
		return history.NewCall(a.History.RedactCall(&d))
	case approvals.Item:
		return approvals.NewApproval(&d)
	}
	return data
}
