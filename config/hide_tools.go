package config

import (
	"context"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// HideTools hides tools from clients, or shows them again, with one edit per file. tools maps server
// ids to the servers' own tool names. If a server does not exist, nothing is written. Other
// settings of the tools are unchanged.
func (r *Reloader) HideTools(ctx context.Context, tools map[string][]string, hide bool) error {
	type part struct{ label, tool string }
	files := map[string][]part{}
	for id, names := range tools {
		s, err := r.editableServer(id)
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
