package main

import (
	"context"
	"errors"

	"github.com/drawbridge-mcp/drawbridge/backend/cassette"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// recordingOf returns a function that reads the calls of a replay server from the history.
func recordingOf(kept *store.Store) func(context.Context, config.Replay) (*cassette.Recording, error) {
	return func(ctx context.Context, r config.Replay) (*cassette.Recording, error) {
		rec, err := history.ReadRecording(ctx, kept, store.Query{Server: r.Server, Session: r.Session, Account: r.Account, Tag: r.Tag, From: r.Since, To: r.Until})
		if own, ok := errors.AsType[*core.Error](err); ok && own.Code == core.CodeNotFound {
			return nil, &core.Error{Code: core.CodeValidation, Message: own.Message, Hint: own.Hint} // another attempt would find as little
		}
		return rec, err
	}
}
