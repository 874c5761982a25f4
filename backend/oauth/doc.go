// Package oauth signs in to remote servers and keeps what that gave: an http.RoundTripper
// adds the access token to the requests of one server, refreshes it, and says when the user
// has to sign in.
//
// Nothing here opens a browser. Begin finds out where to sign in and returns the address;
// whoever shows it to the user decides. The answer comes to a listener on this machine
// that serves one sign-in and ends with it.
//
// Every address in here beside the server's own was named by a stranger. Requests to them
// go through a guard: never further inward than the server itself was reached, https but on
// this machine, few redirects, small answers, short deadlines.
package oauth
