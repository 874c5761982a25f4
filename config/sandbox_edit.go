package config

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/tailscale/hujson"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// SetSandbox sets the sandbox of a server to a value in JSON: a mode or an object.
func (r *Reloader) SetSandbox(ctx context.Context, id string, value json.RawMessage) error {
	s, err := r.editableServer(id)
	if err != nil {
		return err
	}
	return r.Edit(ctx, s.Source.File, func(d *Document) error { return d.SetSandbox(s.Label, value) })
}

// SetSandbox sets the sandbox of a server. If it is an object, a mode keeps its other settings, and
// another object the comments in it.
func (d *Document) SetSandbox(label string, value json.RawMessage) error {
	server, depth := d.findServer(label)
	if server == nil {
		return serverNotFoundError(label)
	}
	parsed, err := hujson.Parse(bytes.Clone(value))
	if err != nil {
		return core.Errorf(core.CodeValidation, "the sandbox is not valid JSON")
	}
	var current *hujson.Object
	if i := memberIndex(server, "sandbox"); i >= 0 {
		current, _ = server.Members[i].Value.Value.(*hujson.Object)
	}
	if current == nil {
		d.setMember(server, "sandbox", parsed.Value, depth)
		return nil
	}
	to, ok := parsed.Value.(*hujson.Object)
	if !ok {
		d.setMember(current, "mode", parsed.Value, depth+1)
		return nil
	}
	for _, name := range memberNames(current) {
		if memberIndex(to, name) < 0 {
			d.removeMember(current, name)
		}
	}
	for _, m := range to.Members {
		name := m.Name.Value.(hujson.Literal).String()
		d.setMember(current, name, m.Value.Value, depth+1)
	}
	return nil
}

func memberNames(o *hujson.Object) (names []string) {
	for _, m := range o.Members {
		names = append(names, m.Name.Value.(hujson.Literal).String())
	}
	return names
}
