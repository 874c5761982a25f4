package supervisor

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// Feature is the servers, as the API shows them.
type Feature struct {
	Servers Servers
}

// Servers controls the servers; *Supervisor implements it.
type Servers interface {
	Status(id string) (core.ServerStatus, bool)
	PendingCommands() []PendingCommand
	Approve(ctx context.Context, server, key string) error
}

// Routes implements web.Feature.
func (f *Feature) Routes(*web.Router) {}
