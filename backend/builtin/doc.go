// Package builtin contains the MCP servers that are part of Drawbridge: the demo server, which lets
// a new user try everything without installing one, and the server that offers a client the status
// and the recorded calls of that client.
//
// Each is an http.Handler or serves a pair of pipes. Their tools only read; they never change the
// configuration.
package builtin
