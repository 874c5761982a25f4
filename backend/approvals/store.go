package approvals

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// Store reads the history; *store.Store implements it.
type Store interface {
	Calls(ctx context.Context, q store.Query) (calls []core.Call, next int64, err error)
	Call(ctx context.Context, id int64) (*store.Record, error)
}

// Past is what the history has about the tool of a pending call and its client.
type Past struct {
	Calls    []PastCall `json:"calls" nullable:"false" doc:"The last three that the server received, newest first"`
	Approved int        `json:"approved" doc:"How many of the last 500 calls were approved by the user"`
	Refused  int        `json:"refused" doc:"How many of them were denied by the user"`
}

// PastCall is one earlier call.
type PastCall struct {
	ID        string       `json:"id"`
	At        time.Time    `json:"at"`
	Outcome   core.Outcome `json:"outcome"`
	Arguments string       `json:"arguments" doc:"The beginning of the JSON text"`
	Result    string       `json:"result" doc:"The beginning of the text of the result"`
}

const (
	maxPastCalls = 3
	maxPastText  = 300 // bytes
)

func (f *Feature) pastCalls(ctx context.Context, in *struct {
	ID string `path:"id" maxLength:"200"`
}) (*web.Answer[Past], error) {
	item, ok := f.Inbox.Item(in.ID)
	if !ok || item.Held == nil {
		return nil, core.Errorf(core.CodeNotFound, "there is no pending call with this id")
	}
	client := item.Client.Token
	if client == "" {
		client = item.Client.Name
	}
	list, _, err := f.Store.Calls(ctx, store.Query{Server: item.Server, Tool: item.Held.Tool, Client: client, Limit: store.MaxLimit})
	if err != nil {
		return nil, err
	}
	past := Past{Calls: []PastCall{}}
	for i := range list {
		c := &list[i]
		if c.Method != "tools/call" || c.FromServer || c.Client.Token != item.Client.Token {
			continue
		}
		switch c.Approval {
		case core.ApprovedOnce, core.ApprovedMinutes, core.ApprovedSession, core.ApprovedAlways:
			past.Approved++
		case core.Denied:
			past.Refused++
		}
		if len(past.Calls) < maxPastCalls && c.Outcome != core.OutcomeRejected {
			r, err := f.Store.Call(ctx, c.ID)
			if err != nil {
				continue // erased meanwhile
			}
			text, _ := resultText(core.Reply{Result: r.Result, Error: r.Error})
			past.Calls = append(past.Calls, PastCall{
				ID: strconv.FormatInt(c.ID, 10), At: c.At, Outcome: c.Outcome,
				Arguments: core.CutBytes(string(r.Arguments), maxPastText), Result: core.CutBytes(strings.TrimSpace(text), maxPastText),
			})
		}
	}
	return web.Reply(past)
}
