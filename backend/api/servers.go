package api

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
)

// debugServer returns everything known about a server, with its last messages.
func (a *API) debugServer(_ context.Context, in *serverInput) (*answer[supervisor.Debug], error) {
	if _, ok := a.Servers.Status(in.ID); !ok {
		return nil, core.Errorf(core.CodeNotFound, "there is no such server")
	}
	d, err := a.Debug(in.ID)
	if err != nil {
		return nil, err
	}
	d.Environment, d.Processes, d.Stderr, d.Frames = nonNil(d.Environment), nonNil(d.Processes), nonNil(d.Stderr), nonNil(d.Frames)
	for i := range d.Stderr {
		d.Stderr[i] = serverlog.Clean(d.Stderr[i])
	}
	for i := range d.Frames {
		d.Frames[i].Text, d.Frames[i].HTTP = a.Redact(d.Frames[i].Text), a.Redact(d.Frames[i].HTTP)
	}
	d.Configured = a.Redact(d.Configured) // an entry may contain --api-key VALUE in plain text
	return reply(d)
}

type addInput struct {
	Body struct {
		Name  string `json:"name" minLength:"1" maxLength:"64" doc:"Name in the configuration"`
		Entry JSON   `json:"entry" doc:"The server's JSON object, as in the configuration file"`
	}
}

// addServer writes a new server into the main configuration file.
func (a *API) addServer(ctx context.Context, in *addInput) (*answer[core.ServerStatus], error) {
	a.Commands.SuppressCommandNotice(core.Slug(in.Body.Name))
	if err := a.Files.Add(ctx, in.Body.Name, []byte(in.Body.Entry)); err != nil {
		return nil, err
	}
	id := core.Slug(in.Body.Name)
	st, ok := a.Servers.Status(id)
	if !ok { // the configuration takes effect a moment later
		st = core.ServerStatus{ID: id, Label: in.Body.Name, State: core.StateStopped}
	}
	return reply(st)
}

// removeServer removes a server from the file that defines it.
func (a *API) removeServer(ctx context.Context, in *serverInput) (*none, error) {
	if _, ok := a.Servers.Status(in.ID); !ok {
		return nil, core.Errorf(core.CodeNotFound, "there is no such server")
	}
	return &none{}, a.Files.Remove(ctx, in.ID)
}
