// Package hub holds the words that all of Drawbridge shares: servers, clients,
// calls, catalogs, codes and errors. It has types and their validation, no
// behaviour, and imports nothing of ours, so that every package may import it.
//
// One word per idea, alike in Go, JSON, SQL, CLI and UI:
//
//	server    an MCP server that we run or reach
//	upstream  our connection to a server
//	client    an MCP client application that calls us
//	call      one recorded JSON-RPC request
//	catalog   what a server offers: tools, prompts, resources, templates
//	era       legacy (MCP revisions up to 2025-11-25) or modern (2026-07-28)
package hub
