package api

import (
	"context"
	"encoding/hex"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

type callsInput struct {
	PageInput
	CallFilter
}

func (a *API) listCalls(ctx context.Context, in *callsInput) (*answer[List[Call]], error) {
	before := parseID(in.Before)
	q := in.query()
	q.Before, q.Limit = before, in.Limit
	calls, next, err := a.History.Calls(ctx, q)
	if err != nil {
		return nil, err
	}
	list := List[Call]{Items: make([]Call, len(calls))}
	for i := range calls {
		list.Items[i] = newCall(&calls[i])
	}
	list.Next = nextPage(next)
	return reply(list)
}

type callInput struct {
	ID string `path:"id" pattern:"^[0-9]{1,18}$"`
}

func (a *API) getCall(ctx context.Context, in *callInput) (*answer[CallDetail], error) {
	id := parseID(in.ID)
	record, err := a.History.Call(ctx, id)
	if err == nil {
		return reply(*newCallDetail(record))
	}
	if call, ok := a.Calls.RunningCall(id); ok {
		return reply(CallDetail{Call: newCall(a.redactCall(&call))})
	}
	return nil, err
}

func newCut(c *store.Cut) *Cut {
	if c == nil {
		return nil
	}
	return &Cut{c.Size, hex.EncodeToString(c.Hash)}
}
