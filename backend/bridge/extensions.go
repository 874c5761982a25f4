package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

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
func (cs *calls) callExtension(ctx context.Context, rq *request, sink *callMessageHandler) (splitResult, *rpcError) {
	if !sharesUnknownExtension(rq.era, rq.capabilities, cs.views.of(rq.endpoint, rq.client.Token).Offers()) {
		return splitResult{}, newError(codeMethodNotFound, "method not found")
	}
	call := cs.newCall(rq)
	call.Server, call.Name, call.PublicName, call.BytesIn = rq.endpoint.server, rq.method, rq.method, len(call.Params)
	reply, err := cs.runCall(ctx, rq, call, sink)
	return cs.result(rq, call.Server, call.PublicName, reply, err)
}

// Notifications of extensions that the bridge does not know pass at the endpoint of one server, in
// both directions, if client and server both declare such an extension.

// maxQueuedNotifications is how many of them wait for a client that does not read.
const maxQueuedNotifications = 1000

// forwardNotification sends a notification of a client to the server of the endpoint, and reports
// whether it belongs to an extension.
func (b *Bridge) forwardNotification(x *exchange) bool {
	if x.endpoint.server == "" || !wire.IsExtensionNotification(x.env.Method) || b.checkParams(x) != nil {
		return false
	}
	ctx := x.request.Context()
	if x.session != nil {
		x.origin.workspace = x.session.folder(x.origin.workspace)
		ctx = x.session.ctx
	}
	ep, refusal := b.views.authorize(x.endpoint.unscoped(), x.origin)
	if refusal != "" {
		return false
	}
	x.endpoint = ep
	rq := b.newRequest(x)
	if !sharesUnknownExtension(rq.era, rq.capabilities, b.views.of(ep, rq.client.Token).Offers()) {
		return false
	}
	call := b.calls.newCall(rq)
	call.Server, call.Name, call.PublicName, call.Workspace, call.BytesIn = ep.server, rq.method, rq.method, rq.workspace, len(call.Params)
	call.OneWay = true
	if _, err := b.Gateway.Call(ctx, call, discardMessageHandler{}); err != nil {
		b.Log.Debug("Cannot forward a notification", "server", ep.server, "method", rq.method, "error", err)
	}
	return true
}

// ExtensionNotified forwards a notification of a server to the clients of its endpoint. serves
// reports whether a call of the client would reach the process that sent the notification. params
// is raw. It does not block.
func (b *Bridge) ExtensionNotified(server, method string, params json.RawMessage, serves func(*core.Call) bool) {
	if !wire.IsExtensionNotification(method) {
		return
	}
	for _, l := range b.listeners.all() {
		if l.endpoint.server != server {
			continue
		}
		origin := l.currentOrigin()
		ep, refusal := b.views.authorize(l.endpoint, origin)
		call := &core.Call{Client: l.client, Shim: origin.shim, Workspace: origin.workspace, Era: core.Modern, Server: server, Profile: ep.scope}
		if l.session != nil {
			call.Era, call.Session = core.Legacy, l.session.id
		}
		if refusal != "" || !sharesUnknownExtension(call.Era, l.capabilities, b.views.of(ep, origin.token).Offers()) || !serves(call) {
			continue
		}
		update := []byte(params)
		if l.subscriptionID != nil {
			update = withSubscriptionID(params, l.subscriptionID)
		}
		l.mu.Lock()
		if l.stream != nil && len(l.queue) < maxQueuedNotifications {
			l.enqueueEvent(queuedNotification{event: wire.AppendNotification(nil, method, update)})
		}
		l.mu.Unlock()
	}
}

// A client that does not declare MCP Apps sees nothing of them in its tools, as if the server had
// been asked by that client alone: one list is read from a server for all clients.

// withoutApps returns a result of tools/list without the members of _meta that belong to MCP Apps,
// and without the tools that only apps may call. Everything else is unchanged, byte for byte.
func withoutApps(list []byte) []byte {
	if !mentionsApps(list) {
		return list
	}
	var edits []wire.Edit
	_ = wire.Members(list, func(m wire.Member) error {
		if string(m.Name) != "tools" {
			return nil
		}
		tools, kept := wire.Bytes(list, m.Value), []byte{'['}
		err := wire.Elements(tools, func(e core.Span) error {
			if tool, visible := toolWithoutApp(wire.Bytes(tools, e)); visible {
				kept = append(append(kept, tool...), ',')
			}
			return nil
		})
		if err == nil {
			edits = append(edits, wire.Edit{Span: m.Value, With: append(bytes.TrimSuffix(kept, []byte{','}), ']')})
		}
		return nil
	})
	return wire.Splice(nil, list, edits...)
}

// appKeys are the beginnings of the keys of MCP Apps as JSON text. A slash may be escaped; any
// character may be spelled with \u.
var appKeys = [][]byte{[]byte(`"ui"`), []byte(`"ui/`), []byte(`"ui\/`), []byte(`\u`)}

// mentionsApps reports whether raw may have a key of MCP Apps. It is a quick check of the raw text.
func mentionsApps(raw []byte) bool {
	return slices.ContainsFunc(appKeys, func(key []byte) bool { return bytes.Contains(raw, key) })
}

// toolWithoutApp returns a tool as a client without MCP Apps sees it, and whether it sees it. A
// tool that cannot be read reliably is not shown.
func toolWithoutApp(tool []byte) (shown []byte, visible bool) {
	if !mentionsApps(tool) {
		return tool, true
	}
	var of struct {
		Meta struct {
			UI struct{ Visibility []string } `json:"ui"`
		} `json:"_meta"`
	}
	if json.Unmarshal(tool, &of) == nil && of.Meta.UI.Visibility != nil && !slices.Contains(of.Meta.UI.Visibility, "model") {
		return nil, false
	}
	var edits []wire.Edit
	err := wire.Members(tool, func(m wire.Member) error {
		if meta := wire.Bytes(tool, m.Value); string(m.Name) == "_meta" && meta[0] == '{' {
			shown, err := withoutMembers(meta, "ui", "ui/resourceUri")
			edits = append(edits, wire.Edit{Span: m.Value, With: shown})
			return err
		}
		return nil
	})
	if err != nil {
		return nil, false
	}
	return wire.Splice(nil, tool, edits...), true
}

// withoutMembers returns an object without some members. Other members are unchanged.
func withoutMembers(object []byte, names ...string) ([]byte, error) {
	kept, dropped := []byte{'{'}, false
	err := wire.Members(object, func(m wire.Member) error {
		if slices.Contains(names, string(m.Name)) {
			dropped = true
		} else {
			kept = append(append(kept, object[m.Key.Start:m.Value.End]...), ',')
		}
		return nil
	})
	if err != nil || !dropped {
		return object, err
	}
	return append(bytes.TrimSuffix(kept, []byte{','}), '}'), nil
}
