package config

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// SetTools changes settings of tools in the file that defines their server, in one edit. A key whose
// value is nil or null is removed.
func (r *Reloader) SetTools(ctx context.Context, id string, tools []string, set map[string]json.RawMessage) error {
	s, err := r.editableServer(id)
	if err != nil {
		return err
	}
	return r.Edit(ctx, s.Source.File, func(d *Document) error {
		for _, tool := range tools {
			if err := d.SetTool(s.Label, tool, set); err != nil {
				return err
			}
		}
		return nil
	})
}

// SetTool changes settings of a tool of the server called label. A key whose value is nil or null
// is removed; objects that become empty are removed too.
func (d *Document) SetTool(label, tool string, set map[string]json.RawMessage) error {
	server, depth := d.findServer(label)
	if server == nil {
		return serverNotFoundError(label)
	}
	tools, err := d.ensureObject(server, "tools", depth)
	if err != nil {
		return err
	}
	settings, err := d.ensureObject(tools, tool, depth+1)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		raw := bytes.TrimSpace(set[key])
		if len(raw) == 0 || string(raw) == "null" {
			d.removeMember(settings, key)
			continue
		}
		value, err := hujson.Parse(bytes.Clone(raw))
		if err != nil {
			return core.Errorf(core.CodeValidation, "the value of '%s' is not valid JSON", key)
		}
		d.setMember(settings, key, value.Value, depth+2)
	}
	if len(settings.Members) == 0 {
		d.removeMember(tools, tool)
	}
	if len(tools.Members) == 0 {
		d.removeMember(server, "tools")
	}
	return nil
}

// ensureObject returns the object under name and creates it if it does not exist. depth is the
// depth of o's members.
func (d *Document) ensureObject(o *hujson.Object, name string, depth int) (*hujson.Object, error) {
	i := memberIndex(o, name)
	if i < 0 {
		d.setMember(o, name, &hujson.Object{}, depth)
		i = memberIndex(o, name)
	}
	inner, ok := o.Members[i].Value.Value.(*hujson.Object)
	if !ok {
		return nil, core.Errorf(core.CodeValidation, "cannot set '%s': it is not an object", name)
	}
	return inner, nil
}
