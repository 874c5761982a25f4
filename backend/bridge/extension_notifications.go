package bridge

import (
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Notifications of extensions that the bridge does not know pass at the endpoint of one server, in
// both directions, if client and server both declare such an extension.

// maxQueuedNotifications is how many of them wait for a client that does not read.
const maxQueuedNotifications = 1000

// forwardNotification sends a notification of a client to the server of the endpoint, and reports
// whether it belongs to an extension.
func (b *Bridge) forwardNotification(x *exchange) bool {
	if x.endpoint.server == "" || !wire.IsExtensionNotification(x.env.Method) || !x.hasUsableParams() {
		return false
	}
	ctx := x.request.Context()
	if x.session != nil {
		x.origin.workspace = x.session.folder(x.origin.workspace)
		ctx = x.session.ctx
	}
	ep, refusal := b.authorizeEndpoint(x.endpoint.unscoped(), x.origin)
	if refusal != "" {
		return false
	}
	x.endpoint = ep
	rq := b.newRequest(x)
	if !sharesUnknownExtension(rq.era, rq.capabilities, b.view(ep, rq.client.Token).Offers()) {
		return false
	}
	call := b.newCall(rq)
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
		ep, refusal := b.authorizeEndpoint(l.endpoint, origin)
		call := &core.Call{Client: l.client, Shim: origin.shim, Workspace: origin.workspace, Era: core.Modern, Server: server, Profile: ep.scope}
		if l.session != nil {
			call.Era, call.Session = core.Legacy, l.session.id
		}
		if refusal != "" || !sharesUnknownExtension(call.Era, l.capabilities, b.view(ep, origin.token).Offers()) || !serves(call) {
			continue
		}
		update := []byte(params)
		if l.subscriptionID != nil {
			update = withSubscriptionID(params, l.subscriptionID)
		}
		l.mu.Lock()
		if l.stream != nil && len(l.queue) < maxQueuedNotifications {
			l.enqueueEvent(b, queuedNotification{event: wire.AppendNotification(nil, method, update)})
		}
		l.mu.Unlock()
	}
}
