package api

import (
	"context"
	"errors"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

type renameInput struct {
	ID   string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"64" doc:"New name in the configuration"`
	}
}

// RenamedServer is a server after it was renamed.
type RenamedServer struct {
	core.ServerStatus
	Warnings []string `json:"renameWarnings" nullable:"false" doc:"References to the old name that were not changed"`
}

// renameServer renames a server in the configuration. Its history is renamed before it starts under
// the new name, and renamed back if the file cannot be written.
func (a *API) renameServer(ctx context.Context, in *renameInput) (*answer[RenamedServer], error) {
	old, ok := a.Servers.Status(in.ID)
	if !ok {
		return nil, errNoSuchServer
	}
	to, err := a.ConfigEditor.CheckRename(old.ID, in.Body.Name)
	if err != nil {
		return nil, err
	}
	back := func(context.Context) error { return nil }
	if to != old.ID {
		move := func() error {
			back, err = a.HistoryStore.RenameServer(ctx, old.ID, to)
			return err
		}
		if err := a.Trust.Rename(ctx, old.ID, to, move); err != nil {
			return nil, err
		}
		a.CommandApprovals.SuppressCommandNotice(to) // its command was approved under the old name
	}
	if to != old.ID && (old.Transport == core.HTTP || old.Transport == core.SSE) {
		if err := a.Logins.Rename(ctx, old.ID, to); err != nil {
			a.Log.Warn("Cannot move the sign-in tokens of a renamed server", "server", old.ID, "error", err) // it will request a new one
		} else {
			undo := back
			back = func(ctx context.Context) error { return errors.Join(a.Logins.Rename(ctx, to, old.ID), undo(ctx)) }
		}
	}
	_, warnings, err := a.ConfigEditor.Rename(ctx, old.ID, in.Body.Name)
	if err != nil {
		if _, done := a.Servers.Status(to); !done {
			if undone := back(context.WithoutCancel(ctx)); undone != nil {
				a.Log.Error("Cannot revert the new server name in the history", "server", old.ID, "error", undone)
			}
		}
		return nil, err
	}
	if to != old.ID {
		a.Observer.Renamed(old.ID, to)
	}
	if err := a.renameInChecks(ctx, old.ID, to); err != nil {
		a.Log.Warn("Cannot update a server's name in the saved checks", "server", old.ID, "error", err)
	}
	st, ok := a.Servers.Status(to)
	if !ok { // the configuration takes effect a moment later
		st = core.ServerStatus{ID: to, Label: in.Body.Name, State: core.StateStopped}
	}
	return reply(RenamedServer{st, append([]string{}, warnings...)})
}

func (a *API) renameInChecks(ctx context.Context, from, to string) error {
	checks, err := a.savedChecks(ctx)
	if err != nil {
		return err
	}
	for _, c := range checks {
		named := false
		for i := range c.Steps {
			if c.Steps[i].Server == from {
				c.Steps[i].Server, named = to, true
			}
		}
		if !named {
			continue
		}
		if err := a.saveCheck(ctx, &c); err != nil {
			return err
		}
	}
	return nil
}
