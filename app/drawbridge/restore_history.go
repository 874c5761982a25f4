package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func historyFile(f config.Folders) string { return filepath.Join(f.Data, "history.db") }

// restoreHistory replaces the history with a backup. No daemon can start meanwhile.
func restoreHistory(ctx context.Context, f config.Folders, backup string) (aside string, err error) {
	lock, err := loopback.Lock(f.Data)
	if _, held := errors.AsType[*loopback.HeldError](err); held {
		return "", &core.Error{Code: core.CodeConflict, Message: "cannot restore the history while Drawbridge is running", Hint: "Stop it with: drawbridge quit.", Cause: err}
	} else if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	backup, err = filepath.Abs(backup)
	if err != nil {
		return "", err
	}
	return store.Restore(ctx, backup, historyFile(f), time.Now())
}
