package main

import (
	"context"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// storedResult returns the function that reads complete results from the history.
func storedResult(history *store.Store) func(context.Context, int64) (*core.Call, json.RawMessage, error) {
	return func(ctx context.Context, id int64) (*core.Call, json.RawMessage, error) {
		record, err := history.Call(ctx, id)
		switch {
		case err != nil:
			return nil, nil, err
		case record.ReplyCut != nil || len(record.Result) == 0:
			return nil, nil, core.Errorf(core.CodeNotFound, "the result of call %d is not recorded", id)
		}
		return &record.Call, record.Result, nil
	}
}
