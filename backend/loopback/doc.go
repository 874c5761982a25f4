// Package loopback controls access to the daemon over HTTP. A request passes these checks in
// order:
//
//	Listen         a loopback address or the user's socket
//	Guard          Host, Origin, Sec-Fetch-Site, method, content type, body size
//	Bearer         the token of a client (the bridge)
//	Admin, or      the admin token, or cookie and key
//	Sessions       of a browser session (the API)
//
// It also owns the lock of the data folder and runtime.json, by which other processes find the
// daemon. It cannot distinguish programs of the same user: docs/security.md describes the threat
// model.
package loopback
