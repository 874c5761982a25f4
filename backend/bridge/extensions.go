package bridge

import (
	"context"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// The extensions that the bridge treats specially.
const (
	appsExtension = "io.modelcontextprotocol/ui"
	// tasksExtension belongs to the modern era. Legacy sessions have the tasks of 2025-11-25
	// instead, so it is offered to neither side of them.
	tasksExtension = "io.modelcontextprotocol/tasks"
)

// extensionsOf returns the settings of the extensions in raw capabilities of a client or server.
func extensionsOf(capabilities []byte) map[string]json.RawMessage {
	var has struct {
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	_ = json.Unmarshal(capabilities, &has)
	return has.Extensions
}

func hasExtension(capabilities []byte, name string) bool {
	_, ok := extensionsOf(capabilities)[name]
	return ok
}

// sharedExtensions returns the extensions that both the client and a server of the endpoint have,
// each with the settings of the first server that has it.
func sharedExtensions(era core.Era, client []byte, offers []registry.Offer) map[string]any {
	wanted := extensionsOf(client)
	if len(wanted) == 0 {
		return nil
	}
	shared := map[string]json.RawMessage{}
	for _, o := range offers {
		if o.Catalog == nil {
			continue
		}
		for name, settings := range extensionsOf(o.Catalog.CapabilitiesIn(era)) {
			if _, both := wanted[name]; both && (name != tasksExtension || era == core.Modern) && shared[name] == nil {
				shared[name] = settings
			}
		}
	}
	return rawValues(shared)
}

// rawValues returns m with values that go-sdk encodes unchanged.
func rawValues(m map[string]json.RawMessage) map[string]any {
	if len(m) == 0 {
		return nil
	}
	all := make(map[string]any, len(m))
	for name, raw := range m {
		all[name] = raw
	}
	return all
}

// withoutTasks returns the capabilities of a legacy client without the tasks extension. Other
// members are unchanged.
func withoutTasks(capabilities []byte) []byte {
	var edits []wire.Edit
	_ = wire.Members(capabilities, func(m wire.Member) error {
		if string(m.Name) != "extensions" {
			return nil
		}
		extensions, _ := withoutMembers(wire.Bytes(capabilities, m.Value), tasksExtension)
		edits = append(edits, wire.Edit{Span: m.Value, With: extensions})
		return nil
	})
	return wire.Splice(nil, capabilities, edits...)
}

// sharesUnknownExtension reports whether a client and a server of the endpoint have an extension in
// common that the bridge does not know.
func sharesUnknownExtension(era core.Era, client []byte, offers []registry.Offer) bool {
	shared := sharedExtensions(era, client, offers)
	delete(shared, appsExtension)
	delete(shared, tasksExtension)
	return len(shared) > 0
}

// callExtension sends a request of a method that the protocol does not have to the server of the
// endpoint. Params and result are unchanged. The client and the server must both declare an
// extension that could have the method.
func (b *Bridge) callExtension(ctx context.Context, rq *request, sink *callMessageHandler) (splitResult, *rpcError) {
	if !sharesUnknownExtension(rq.era, rq.capabilities, b.view(rq.endpoint, rq.client.Token).Offers()) {
		return splitResult{}, newError(codeMethodNotFound, "method not found")
	}
	call := b.newCall(rq)
	call.Server, call.Name, call.PublicName, call.BytesIn = rq.endpoint.server, rq.method, rq.method, len(call.Params)
	reply, err := b.runCall(ctx, rq, call, sink)
	return b.buildResult(rq, call.Server, call.PublicName, reply, err)
}
