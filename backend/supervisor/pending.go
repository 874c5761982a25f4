package supervisor

import (
	"context"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// pendingCommand is the kind of a command that needs approval. It is not an item of the inbox: it
// waits as long as it is in the configuration.
const pendingCommand approvals.Kind = "command"

// PendingKind implements approvals.Source.
func (f *Feature) PendingKind() approvals.Kind { return pendingCommand }

// commandItem identifies a command by its server and its key, so that an answer applies to exactly
// the command that the user saw.
func commandItem(c PendingCommand, since time.Time) approvals.Item {
	text := c.Command
	if len(c.Environment) > 0 {
		text += "\nEnvironment: " + strings.Join(c.Environment, ", ")
	}
	if c.Cwd != "" {
		text += "\nFolder: " + c.Cwd
	}
	if len(c.Sandbox) > 0 {
		text += "\nLooser sandbox than approved: the server could " + strings.Join(c.Sandbox, ", ")
	}
	return approvals.Item{ID: "command:" + c.Server + ":" + c.Key, Kind: pendingCommand, Server: c.Server, Message: text, At: since.UTC(),
		Command: &approvals.NewCommand{CommandLine: c.Command, Previous: c.Previous, Environment: web.NonNil(c.Environment), Cwd: c.Cwd, Sandbox: web.NonNil(c.Sandbox)}}
}

// Pending lists the commands that need approval, in the order of the configuration, except
// those of disabled servers.
func (f *Feature) Pending() []approvals.Item {
	var list []approvals.Item
	for _, c := range f.Servers.PendingCommands() {
		if st, ok := f.Servers.Status(c.Server); ok && st.State == core.StateNeedsApproval {
			list = append(list, commandItem(c, st.Since))
		}
	}
	return list
}

// Answer approves a command. One that is not accepted keeps waiting and does not run.
func (f *Feature) Answer(ctx context.Context, id, action string) (ended bool, err error) {
	server, key, _ := strings.Cut(strings.TrimPrefix(id, string(pendingCommand)+":"), ":")
	if _, known := f.Servers.Status(server); !known || key == "" {
		return false, core.Errorf(core.CodeNotFound, "this command is no longer pending")
	}
	if action != approvals.Accept {
		return false, nil
	}
	err = f.Servers.Approve(ctx, server, key)
	return err == nil, err
}
