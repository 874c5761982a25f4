// Package api is what the page, the CLI and scripts talk to: JSON under /api/v1, its
// OpenAPI document, a stream of events, /healthz, and the files of the page.
//
// It owns no state but a list of the calls that run: everything else is asked of the
// parts that know. Payloads of MCP are JSON text inside strings, so that no number
// is lost in a browser; the answer of POST call has them as they are.
//
// Every route stands in one table with its access. Errors are RFC 9457 documents
// with a code, and never repeat what was sent.
package api
