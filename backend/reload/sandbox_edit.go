package reload

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/tailscale/hujson"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// SetSandbox sets the sandbox of a server to a value in JSON.
func (r *Reloader) SetSandbox(ctx context.Context, id string, value json.RawMessage) error {
	s, err := r.editableServer(id)
	if err != nil {
		return err
	}
	return r.Edit(ctx, s.Source.File, func(d *Document) error {
		server, depth := d.findServer(s.Label)
		if server == nil {
			return serverNotFoundError(s.Label)
		}
		parsed, err := hujson.Parse(bytes.Clone(value))
		if err != nil {
			return core.Errorf(core.CodeValidation, "the sandbox is not valid JSON")
		}
		d.setMember(server, "sandbox", parsed.Value, depth)
		return nil
	})
}
