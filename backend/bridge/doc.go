// Package bridge is the MCP endpoint: it offers all servers to every client over one URL, in both
// eras, and translates between JSON-RPC over HTTP and [core.Call].
//
// [Bridge] serves the requests. A plain request of a known method takes the fast path, which reads
// only the envelope and the names in params and forwards the bytes of the server unchanged.
// Everything else (handshake, subscriptions, GET, DELETE) goes through go-sdk, whose middleware
// ends in the same dispatch function. Legacy sessions are kept in a table of this package, because
// go-sdk does not see the calls of the fast path. The package does not authenticate clients
// (backend/loopback), and neither permits nor records calls (backend/gateway).
//
// The files in the order of a request: bridge.go, endpoint.go, http_*.go, message.go, exchange.go,
// request.go, fast_path.go or sdk_*.go, dispatch.go, call_sink.go, result_*.go. A call that needs
// input from the client continues in suspended_call.go and input_*.go; client_*.go holds what is
// known about clients, session*.go the legacy sessions, tool_*.go the lists of tools. Notifications
// start in list_changed.go and resource_subscriptions.go.
package bridge
