// Package upstream is one MCP connection to one server.
//
// [Dialer.Dial] starts the process or the container of a server, or reaches its URL, with the
// environment, the secrets and the sign-in that the configuration names, and explains why a start
// failed. [Connect] detects the era of the server, performs the handshake and reads the catalog;
// [Conn] keeps the catalog current and sends calls. Payloads stay raw from end to end: results are
// read only as far as the catalog requires. Connections do not restart themselves; that is the
// supervisor's task.
package upstream
