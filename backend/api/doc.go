// Package api serves the page, the CLI and scripts: JSON under /api/v1 with its OpenAPI document,
// a stream of events, /healthz, and the files of the page.
//
// The operations belong to the features; [API] has only those about the whole program. It holds no
// state and asks the features for everything else. One table lists every route with the access that it requires. MCP payloads are
// JSON text inside strings, so that a browser loses no number; only the response of POST call has
// them as they are. Errors are RFC 9457 documents with a code and never repeat the request.
package api
