// Package core holds the types that all packages share: servers, clients, calls, catalogs,
// error codes and errors. It contains types and their validation, no other behaviour, and
// imports none of our packages, so that every package may import it.
//
// One word per idea, in Go, JSON, SQL, the CLI and the UI:
//
//	server    an MCP server that we run or connect to
//	upstream  our connection to a server
//	client    an MCP client application that calls us
//	call      one recorded JSON-RPC request
//	catalog   what a server offers: tools, prompts, resources, resource templates
//	era       legacy (MCP revisions up to 2025-11-25) or modern (2026-07-28)
package core
