package supervisor

import (
	"context"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// ConfigEditor reads and edits the configuration; *config.Reloader implements it.
type ConfigEditor interface {
	Current() *config.Config
	Enable(ctx context.Context, id string) error
	Disable(ctx context.Context, id string) error
	Add(ctx context.Context, label string, entry json.RawMessage) error
	Remove(ctx context.Context, id string) error
	SetTools(ctx context.Context, id string, tools []string, set map[string]json.RawMessage) error
}
