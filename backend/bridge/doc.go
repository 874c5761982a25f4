// Package bridge is the MCP endpoint: it offers all servers to every client over
// one URL, in both eras, and translates between the wire and [core.Call]. It
// decides nothing: who may come in is decided before it, what may be called and
// how it is recorded behind it.
//
//	          ┌ GET, DELETE, handshake, subscriptions, anything unusual ─► go-sdk ─┐
//	request ─►│ era switch                                                         ├─► answer ─► gateway
//	          └ a plain request of a known method (the hot path) ──────────────────┘
//
// The hot path reads only the envelope and the names in params, and writes the
// server's bytes back as they are. It starts as a JSON document and becomes a
// stream of server-sent events when something besides the reply belongs to the
// call. What is unusual falls through to go-sdk, whose middleware ends in the very
// same answer function.
//
// Legacy sessions live in our own table beside go-sdk's: a call on the hot path
// never passes through the SDK, so the SDK cannot know when a session is in use.
package bridge
