package main

import (
	"context"
	"log/slog"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// restoreTasks lets clients fetch the tasks that they created before a restart of Drawbridge. Tasks
// of calls that were not recorded are unknown.
func restoreTasks(ctx context.Context, history *store.Store, front *bridge.Bridge, log *slog.Logger) {
	tasks, err := history.Tasks(ctx, front.Now().Add(-bridge.MaxTaskLife), bridge.MaxRestoredTasks)
	if err != nil {
		log.Warn("Cannot read the tasks from the history", "error", err)
	}
	front.RestoreTasks(tasks)
}
