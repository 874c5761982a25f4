package history

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// RenameInChecks renames a server in the saved checks.
func (f *Feature) RenameInChecks(ctx context.Context, from, to string) error {
	checks, err := f.savedChecks(ctx)
	if err != nil {
		return err
	}
	for _, c := range checks {
		named := false
		for i := range c.Steps {
			if c.Steps[i].Server == from {
				c.Steps[i].Server, named = to, true
			}
		}
		if !named {
			continue
		}
		if err := f.saveCheck(ctx, &c); err != nil {
			return err
		}
	}
	return nil
}

func (f *Feature) savedChecks(ctx context.Context) ([]Check, error) {
	documents, err := f.Store.SavedChecks(ctx)
	if err != nil {
		return nil, err
	}
	checks := make([]Check, len(documents))
	for i, d := range documents {
		if err := json.Unmarshal(d, &checks[i]); err != nil {
			return nil, err
		}
	}
	return checks, nil
}

func (f *Feature) saveCheck(ctx context.Context, c *Check) error {
	document, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return f.Store.SaveCheck(ctx, c.Name, document)
}

// File returns the file of the history.
func File(f config.Folders) string { return filepath.Join(f.Data, "history.db") }

// Restore replaces the history with a backup. No daemon can start meanwhile.
func Restore(ctx context.Context, f config.Folders, backup string) (aside string, err error) {
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
	return store.Restore(ctx, backup, File(f), time.Now())
}
