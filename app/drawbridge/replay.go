package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/drawbridge-mcp/drawbridge/backend/cassette"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// recordingOf returns a function that reads the calls of a replay server from the history.
func recordingOf(kept *store.Store) func(context.Context, config.Replay) (*cassette.Recording, error) {
	return func(ctx context.Context, r config.Replay) (*cassette.Recording, error) {
		rec, err := history.Record(ctx, kept, store.Query{Server: r.Server, Session: r.Session, Tag: r.Tag, From: r.Since, To: r.Until})
		if own, ok := errors.AsType[*core.Error](err); ok && own.Code == core.CodeNotFound {
			return nil, &core.Error{Code: core.CodeValidation, Message: own.Message, Hint: own.Hint} // another attempt would find as little
		}
		return rec, err
	}
}

// liveCall calls the server that a replay server replays. It is recorded as a call of its own, and
// needs the approvals of a client.
func liveCall(ctx context.Context, calls *gateway.Gateway, servers *supervisor.Supervisor, server, method, name string, params json.RawMessage) (core.Reply, error) {
	if status, ok := servers.Status(server); ok && status.Transport == core.Replay { // could be a circle
		return core.Reply{}, core.Errorf(core.CodeValidation, "%q is a replay server itself", server)
	}
	parsed, err := wire.ScanParams(params)
	if err != nil {
		return core.Reply{}, core.Errorf(core.CodeValidation, "the parameters cannot be read")
	}
	return calls.Call(ctx, &core.Call{
		Client: core.Client{Name: "drawbridge-replay", Version: version}, Era: core.Legacy,
		Server: server, Method: method, Name: name, PublicName: name,
		Params: params, Arguments: parsed.Arguments, Meta: parsed.Meta, ProgressToken: parsed.ProgressToken,
	}, nil)
}
