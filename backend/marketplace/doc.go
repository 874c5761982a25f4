// Package marketplace knows servers that can be installed: records in the format of the
// official MCP registry (server.json), and bundles (.mcpb).
//
// Nobody reviews what a registry holds: its text is data from strangers. It decides
// which package is run, and nothing else. The program that runs it comes from a closed
// list, options of that program from another, and what would reach further (options
// that run code, variables that change how programs start, text that we would expand)
// is refused with a sentence that names it. Nothing here runs a program; an
// installation is an entry for the configuration, which the user sees first. The one
// connection is that of Refresh, which the user asks for.
package marketplace
