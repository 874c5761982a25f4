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
//	bridge     bridge.go: options, start and end; in_flight_requests.go: cancels requests at the end
//	endpoint   handler.go checks a request with headers.go and message.go, and routes it to an
//	           endpoint of endpoint.go
//	SDK        sdk_handler.go, sdk_server.go: what go-sdk serves
//	client     what is known about the caller: client_activity.go, client_capabilities.go,
//	           client_roots.go, client_visibility.go, workspace.go; feature_matrix.go compares
//	           client and server for the web UI
//	session    session.go (legacy) and modern_sessions.go
//	dispatch   dispatch.go selects what a method does, and target.go the server it is for
//	lists      tool_listing.go, tool_search.go, hide_mcp_apps.go
//	translate  between the eras, and between names of clients and of servers:
//	           results_and_errors.go, resource_uris.go, extensions.go
//	respond    response_writer.go; result_limit.go shortens large results, and memory_budgets.go
//	           limits what clients have not read yet
//	ask        what a server asks the client during a call: call_message_handler.go,
//	           suspended_call.go in the modern era, input_requests.go
//	tasks      tasks.go, task_table.go, task_ids.go, task_notifications.go
//	notify     messages that belong to no request: notifications.go, resource_subscriptions.go,
//	           extension_notifications.go
package bridge
