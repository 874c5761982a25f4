package api

import (
	"context"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
)

// logLines is how much of a server's log its page shows.
const logLines = 500

func (a *API) listServers(context.Context, *none) (*answer[List[core.ServerStatus]], error) {
	return reply(List[core.ServerStatus]{Items: nonNil(a.Servers.Statuses())})
}

type serverInput struct {
	ID string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
}

func (a *API) getServer(_ context.Context, in *serverInput) (*answer[ServerDetail], error) {
	st, ok := a.Servers.Status(in.ID)
	if !ok {
		return nil, errNoSuchServer
	}
	d := ServerDetail{ServerStatus: st, Log: nonNil(a.Logs.Tail(st.ID, logLines))}
	for i := range d.Log {
		d.Log[i].Text = serverlog.Clean(d.Log[i].Text)
	}
	if usage, err := a.Usage(st.ID); err == nil {
		d.Usage = &usage
	}
	return reply(d)
}

type actionInput struct {
	ID     string `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
	Action string `path:"action" enum:"start,stop,restart,enable,disable,connect,disconnect,reconnect"`
}

func (a *API) changeServer(ctx context.Context, in *actionInput) (*answer[core.ServerStatus], error) {
	if _, ok := a.Servers.Status(in.ID); !ok {
		return nil, errNoSuchServer
	}
	change := map[string]func(context.Context, string) error{
		"start": a.Servers.Start, "stop": a.Servers.Stop, "restart": a.Servers.Restart,
		"connect": a.Servers.Start, "disconnect": a.Servers.Stop, "reconnect": a.Servers.Restart,
		"enable": a.ConfigEditor.Enable, "disable": a.ConfigEditor.Disable,
	}[in.Action]
	if err := change(ctx, in.ID); err != nil {
		return nil, err
	}
	if in.Action != "stop" && in.Action != "disable" && in.Action != "disconnect" {
		a.Rules.Reset(in.ID) // the user has handled the cause
	}
	st, _ := a.Servers.Status(in.ID)
	return reply(st)
}

// debugServer returns everything known about a server, with its last messages.
func (a *API) debugServer(_ context.Context, in *serverInput) (*answer[supervisor.Debug], error) {
	if _, ok := a.Servers.Status(in.ID); !ok {
		return nil, errNoSuchServer
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

// AddInputBody is a new server.
type AddInputBody struct {
	Name  string `json:"name" minLength:"1" maxLength:"64" doc:"Name in the configuration"`
	Entry JSON   `json:"entry" doc:"The server's JSON object, as in the configuration file"`
}

type addInput struct{ Body AddInputBody }

// addServer writes a new server into the main configuration file.
func (a *API) addServer(ctx context.Context, in *addInput) (*answer[core.ServerStatus], error) {
	a.CommandApprovals.SuppressCommandNotice(core.Slug(in.Body.Name))
	if err := a.ConfigEditor.Add(ctx, in.Body.Name, []byte(in.Body.Entry)); err != nil {
		return nil, err
	}
	id := core.Slug(in.Body.Name)
	st, ok := a.Servers.Status(id)
	if !ok { // the configuration takes effect a moment later
		st = core.ServerStatus{ID: id, Label: in.Body.Name, State: core.StateStopped}
	}
	return reply(st)
}

// ConvertedEntry is a pasted entry in the format of the configuration.
type ConvertedEntry struct {
	Entry   JSON     `json:"entry,omitempty"`
	Notes   []string `json:"notes" nullable:"false" doc:"What is not copied, and why the server is disabled"`
	Refused string   `json:"refused,omitempty" doc:"Why the entry cannot be used; there is no entry then"`
}

// convertEntry converts an entry that another program shows. Nothing is written.
func (a *API) convertEntry(_ context.Context, in *addInput) (*answer[ConvertedEntry], error) {
	entry, notes, err := clientconf.ConvertEntry(in.Body.Name, []byte(in.Body.Entry))
	if err != nil {
		message, hint := core.Describe(err)
		return reply(ConvertedEntry{Notes: []string{}, Refused: strings.TrimSpace(message + ". " + hint)})
	}
	return reply(ConvertedEntry{Entry: JSON(entry), Notes: append([]string{}, notes...)})
}

// removeServer removes a server from the file that defines it.
func (a *API) removeServer(ctx context.Context, in *serverInput) (*none, error) {
	if _, ok := a.Servers.Status(in.ID); !ok {
		return nil, errNoSuchServer
	}
	return &none{}, a.ConfigEditor.Remove(ctx, in.ID)
}
