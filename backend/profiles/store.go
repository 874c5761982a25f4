package profiles

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// Store holds the calls of clients; *store.Store implements it.
type Store interface {
	ClientTools(ctx context.Context, since time.Time, days int) ([]store.ClientTool, error)
}
