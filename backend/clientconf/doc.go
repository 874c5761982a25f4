// Package clientconf connects MCP clients: it finds their configuration files, writes one entry
// into them without touching anything else, and removes it exactly.
//
// A client is a row of data (clients.json), not code: its paths, its format, the shape of an entry
// and what its parser accepts. The steps are the same for all clients:
//
//	locate > read > plan (a diff to show) > lock > splice > verify > write > undo
//
// A file that cannot be edited safely is refused, and the user gets a snippet to paste. The
// package never runs a client and never follows a value that a file contains.
package clientconf
