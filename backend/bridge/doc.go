// Package bridge is the MCP endpoint: it offers all servers to every client over one URL, in both
// eras, and translates between JSON-RPC over HTTP and [core.Call].
//
// [Bridge] serves the requests. A call or list is served as bytes: dispatch reads only the envelope
// and the names in params, and forwards the bytes of the server unchanged. go-sdk handles the
// handshake, discovery and the streams for notifications, and validates the rare requests that the
// handler cannot judge; those then return to dispatch. Legacy sessions are kept in a table of this
// package, because go-sdk does not see most calls. The package does not authenticate clients
// (backend/loopback), and neither permits nor records calls (backend/gateway).
//
// The files by the steps of a request:
//
//	bridge     bridge.go: options, start and end
//	endpoint   handler.go checks a request, and routes it to an endpoint of endpoint.go
//	SDK        sdk_server.go: what go-sdk serves
//	client     client.go: what is known about the caller
//	session    session.go: sessions of the legacy era, and what takes their place in the modern one
//	dispatch   dispatch.go selects what a method does, and target.go the server it is for
//	lists      tool_listing.go
//	translate  between the eras, and between names of clients and of servers: content_types.go,
//	           results_and_errors.go, resource_uris.go, extensions.go
//	respond    result_limit.go shortens large results, and limits what clients have not read yet
//	ask        what a server asks the client during a call: call_messages.go, and suspended_call.go
//	           in the modern era
//	tasks      tasks.go, task_table.go
//	notify     notifications.go: messages that belong to no request
package bridge
