package main

import (
	"context"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// serverCallbacks returns what servers reach: the clients, and for replay servers the server that
// they replay.
func serverCallbacks(front *bridge.Bridge, calls *gateway.Gateway, servers *supervisor.Supervisor, accounts *accountChooser) upstream.Callbacks {
	return upstream.Callbacks{
		OnNotification: func(server, owner, method string, params json.RawMessage) {
			switch method {
			case "notifications/resources/updated":
				front.ResourceUpdated(server, owner, params)
			case "notifications/tasks/status":
				front.LegacyTaskStatusChanged(server, owner, params)
			case "notifications/elicitation/complete":
				front.ElicitationCompleted(server, params)
			case "notifications/tasks":
				front.ModernTaskUpdated(server, owner, params)
			default:
				front.ExtensionNotified(server, method, params, func(call *core.Call) bool {
					return accounts.choose(call) == nil && servers.Serves(owner, call)
				})
			}
		},
		OnRequest:      front.Ask,
		OnModernChange: front.ModernConnectionChanged,
		LiveCall: func(ctx context.Context, server, method, name string, params json.RawMessage) (core.Reply, error) {
			return liveCall(ctx, calls, servers, server, method, name, params)
		},
	}
}

// liveCall calls the server that a replay server replays. It is recorded as a call of its own, and
// needs the approvals of a client.
func liveCall(ctx context.Context, calls *gateway.Gateway, servers *supervisor.Supervisor, server, method, name string, params json.RawMessage) (core.Reply, error) {
	if status, ok := servers.Status(server); ok && status.Transport == core.Replay { // could be a circle
		return core.Reply{}, core.Errorf(core.CodeValidation, "%q is itself a replay server", server)
	}
	parsed, err := wire.ScanParams(params)
	if err != nil {
		return core.Reply{}, core.Errorf(core.CodeValidation, "cannot parse the parameters")
	}
	return calls.Call(ctx, &core.Call{
		Client: core.Client{Name: "drawbridge-replay", Version: version}, Era: core.Legacy,
		Server: server, Method: method, Name: name, PublicName: name,
		Params: params, Arguments: parsed.Arguments, Meta: parsed.Meta, ProgressToken: parsed.ProgressToken,
	}, nil)
}
