// Package builtin contains the MCP servers that are part of Drawbridge: the demo server, with
// which a new user can try everything without installing a server, and the server that reports to
// a client the status of the servers and that client's recorded calls.
//
// Each is an http.Handler, serves a pair of pipes or is an upstream itself. Their tools are
// read-only; they never change the configuration.
package builtin
