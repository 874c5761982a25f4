// Package oauth signs in to remote servers (OAuth 2.1 as the MCP specification profiles it) and
// stores the tokens.
//
// [Keeper.Client] returns an HTTP client that adds the access token of one server, refreshes it,
// and reports when the user has to sign in. [Keeper.Begin] returns the URL to open; the package
// never opens a browser. A listener on the loopback interface receives the callback of one sign-in
// and is closed afterwards. Every URL except that of the server is untrusted: requests to untrusted
// URLs never reach further into the private network than the server itself, use HTTPS unless they
// stay on this machine, and are limited in redirects, size and time.
package oauth
