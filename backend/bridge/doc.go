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
// The files in the order of a request: handler.go (with headers.go, message.go, endpoint.go,
// session.go), dispatch.go, target.go, results_and_errors.go, response_writer.go; sdk_handler.go
// and sdk_server.go for what go-sdk serves. Messages of a server during a call pass through
// call_message_handler.go, or suspended_call.go in the modern era, and input_requests.go. Messages
// that belong to no request start in notifications.go and resource_subscriptions.go.
package bridge
