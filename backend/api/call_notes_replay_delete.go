package api

import (
	"context"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// Note is the note of the user on a call.
type Note struct {
	Title string   `json:"title" doc:"At most 500 characters"`
	Note  string   `json:"note" doc:"At most 5,000 characters"`
	Tags  []string `json:"tags" nullable:"false" doc:"At most 20, of 50 characters each"`
}

// NoteChange is a note to be written.
type NoteChange struct {
	Note
	Base *Note `json:"base,omitempty" doc:"Note that the edit is based on; if the stored note differs, nothing is written. Without it, any note is replaced"`
}

type noteInput struct {
	ID   string `path:"id" pattern:"^[0-9]{1,18}$"`
	Body NoteChange
}

func (n *Note) stored() store.Note { return store.Note{Title: n.Title, Text: n.Note, Tags: n.Tags} }

func (a *API) putNote(ctx context.Context, in *noteInput) (*answer[CallDetail], error) {
	id := parseID(in.ID)
	save := func() error { return a.HistoryStore.SaveNote(ctx, id, in.Body.stored()) }
	if base := in.Body.Base; base != nil {
		save = func() error { return a.HistoryStore.ChangeNote(ctx, id, base.stored(), in.Body.stored()) }
	}
	if err := save(); err != nil {
		return nil, err
	}
	return a.getCall(ctx, &callInput{in.ID})
}

type replayInput struct {
	ID   string `path:"id" pattern:"^[0-9]{1,18}$"`
	By   string `header:"X-Drawbridge-Client" hidden:"true"` // set by loopback.RequireAdmin
	Body struct {
		Arguments JSON `json:"arguments,omitempty" doc:"JSON object that replaces the recorded arguments"`
		Confirm   bool `json:"confirm,omitempty" doc:"Required unless the tool is marked read-only"`
	}
}

func (a *API) replay(ctx context.Context, in *replayInput) (*answer[CallResult], error) {
	id := parseID(in.ID)
	again := history.ReplayRequest{ID: id, Confirmed: in.Body.Confirm, By: a.clientFor(in.By)}
	if args := in.Body.Arguments; len(args) > 0 && string(args) != "null" {
		again.Arguments = args
	}
	r := &history.Replayer{Calls: a.History, Caller: a.Calls, ReadOnly: a.Views.All().ReadOnly}
	call, said, err := r.Replay(ctx, again)
	if call == nil {
		return nil, err
	}
	return reply(resultOf(call, said, err))
}

func (a *API) clientFor(by string) core.Client {
	if by == loopback.ByBrowser {
		return core.Client{Name: core.PageClient, Version: a.Version}
	}
	return core.Client{Name: core.CommandClient, Version: a.Version}
}

type deleteInput struct {
	Body struct {
		IDs     []string `json:"ids,omitempty" maxItems:"10000"`
		Client  string   `json:"client,omitempty" maxLength:"1000"`
		Session string   `json:"session,omitempty" maxLength:"200"`
	}
}

// Deleted is the number of deleted calls.
type Deleted struct {
	Deleted int64 `json:"deleted"`
}

func (a *API) deleteCalls(ctx context.Context, in *deleteInput) (*answer[Deleted], error) {
	sel := store.Selection{Client: in.Body.Client, Session: in.Body.Session}
	for i, id := range in.Body.IDs {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
				Fields: []core.FieldError{{Field: "body.ids[" + strconv.Itoa(i) + "]", Error: "must be a decimal number"}}}
		}
		sel.IDs = append(sel.IDs, n)
	}
	n, err := a.HistoryStore.Erase(ctx, sel)
	if err != nil {
		return nil, err
	}
	return reply(Deleted{n})
}
