// Package loopback decides who may reach the daemon over HTTP. A request passes, in this order:
//
//	Listen         a loopback address or the socket of the user
//	Guard          Host, Origin, Sec-Fetch-Site, method, content type, body size
//	Bearer         the token of a client (the bridge)
//	Admin, or      the admin token, or cookie and key
//	Sessions       of a browser session (the API)
//
// It also owns the lock of the data folder and runtime.json, by which other processes find the
// daemon. It cannot tell apart programs of the same user: docs/security.md states the threat model.
package loopback
