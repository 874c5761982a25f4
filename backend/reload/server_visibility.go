package reload

import (
	"context"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Hide keeps clients from many tools, or lets them see these again, with one edit of each
// file: tools are the servers' own names, by the id of the server. Nothing is written when
// there is no such server. Every other setting of the tools stays.
func (r *Reloader) Hide(ctx context.Context, tools map[string][]string, hide bool) error {
	type part struct{ label, tool string }
	files := map[string][]part{}
	for id, names := range tools {
		s, err := r.server(id)
		if err != nil {
			return err
		}
		for _, name := range names {
			if name == "" {
				return core.Errorf(core.CodeValidation, "a tool has no name")
			}
			files[s.Source.File] = append(files[s.Source.File], part{s.Label, name})
		}
	}
	set := map[string]json.RawMessage{"enabled": nil}
	if hide {
		set["enabled"] = json.RawMessage("false")
	}
	for file, parts := range files {
		err := r.Edit(ctx, file, func(d *Document) error {
			for _, p := range parts {
				if err := d.SetTool(p.label, p.tool, set); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
