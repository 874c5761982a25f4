package desktop

import (
	"context"
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// NotificationState is a snapshot of the state that the watched events describe.
type NotificationState struct {
	Servers   []core.ServerStatus
	Approvals []approvals.Item  // pending ones
	Commands  map[string]string // messages about changed commands, by server
}

// reconcile reconciles the notifications with a snapshot: it withdraws what no longer applies
// and shows what is new.
func (r *watchRun) reconcile(ctx context.Context, now NotificationState) {
	servers, pending := map[string]bool{}, map[string]bool{}
	for _, s := range now.Servers {
		servers[s.ID] = true
	}
	for id := range r.states {
		if !servers[id] {
			r.forgetServer(ctx, id)
		}
	}
	for _, s := range now.Servers {
		r.updateServer(ctx, s)
	}
	for _, q := range now.Approvals {
		pending[q.ID] = true
	}
	for id, q := range r.waiting {
		if !pending[id] {
			q.State = "withdrawn" // or answered: in both cases it is no longer pending
			r.updateApprovalNotification(ctx, q)
		}
	}
	for _, q := range now.Approvals {
		if _, known := r.waiting[q.ID]; !known {
			r.updateApprovalNotification(ctx, q)
		}
	}
	for id := range r.commands {
		if now.Commands[id] == "" {
			r.updateCommand(ctx, id, "")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now.Commands)) {
		if r.commands[id] != now.Commands[id] {
			r.updateCommand(ctx, id, now.Commands[id])
		}
	}
}
