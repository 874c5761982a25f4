package config

import (
	"context"

	"github.com/tailscale/hujson"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// SetArgument replaces the argument with index at of a server in the file that defines it, or the
// server's image if at is -1. The rest of the file, including comments, is unchanged. It fails
// with CodeConflict unless the current value is was.
func (r *Reloader) SetArgument(ctx context.Context, id string, at int, was, now string) error {
	s, err := r.editableServer(id)
	if err != nil {
		return err
	}
	return r.Edit(ctx, s.Source.File, func(d *Document) error { return d.SetArgument(s.Label, at, was, now) })
}

// SetArgument replaces the argument with index at of the server called label, or its image if at
// is -1.
func (d *Document) SetArgument(label string, at int, was, now string) error {
	server, _ := d.findServer(label)
	if server == nil {
		return serverNotFoundError(label)
	}
	moved := &core.Error{Code: core.CodeConflict, Message: "the server's entry has changed in the meantime", Hint: "Review it again."}
	set := func(v *hujson.Value) error {
		old, ok := v.Value.(hujson.Literal)
		if !ok || old.Kind() != '"' || old.String() != was {
			return moved
		}
		v.Value = hujson.String(now)
		return nil
	}
	if at < 0 {
		i := memberIndex(server, "docker")
		if i < 0 {
			return moved
		}
		docker, ok := server.Members[i].Value.Value.(*hujson.Object)
		if !ok {
			return moved
		}
		if i = memberIndex(docker, "image"); i < 0 {
			return moved
		}
		return set(&docker.Members[i].Value)
	}
	i := memberIndex(server, "args")
	if i < 0 {
		return moved
	}
	args, ok := server.Members[i].Value.Value.(*hujson.Array)
	if !ok || at >= len(args.Elements) {
		return moved
	}
	return set(&args.Elements[at])
}
