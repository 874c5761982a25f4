// Package bridge is the MCP endpoint: it offers all servers to every client over one URL, in both
// eras, and translates between JSON-RPC over HTTP and [core.Call].
//
// [Bridge] serves the requests. Every message takes one path: admit checks it, and a table of
// methods says how it is served. A call or list is served as bytes: only the envelope and the names
// in params are read, and the bytes of the server are forwarded unchanged. The package does not
// authenticate clients (backend/loopback), and neither permits nor records calls (backend/gateway).
//
// The Bridge serves HTTP and holds the sessions. views finds what a client sees, calls runs what it
// requests, and listeners, subscriptions and tasks pass on what servers report. Each of them owns its
// state, and none of them knows the Bridge.
//
// The files by the steps of a request:
//
//	bridge     bridge.go: options, start and end
//	endpoint   handler.go reads a request, and routes it to an endpoint of endpoint.go
//	checks     admission.go: headers, revision, session and form of a message
//	methods    handshake.go: the table of methods, and those of the handshake
//	client     client.go: what is known about the caller
//	session    session.go: sessions of the legacy era, and what takes their place in the modern one
//	dispatch   dispatch.go serves requests, and target.go finds the server that a call is for
//	lists      tool_listing.go
//	translate  between the eras, and between names of clients and of servers: content_types.go,
//	           results_and_errors.go, resource_uris.go, extensions.go
//	respond    result_limit.go shortens large results, and limits what clients have not read yet
//	ask        what a server asks the client during a call: call_messages.go, and suspended_call.go
//	           in the modern era
//	tasks      tasks.go, task_table.go
//	notify     notifications.go: messages that belong to no request
package bridge
