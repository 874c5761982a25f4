// Package loopback decides who may reach us over TCP, and it is the only place
// that does: the listener binds loopback addresses only, the guard refuses whatever
// a web page could send, and tokens, the admin token and browser sessions say who
// is asking. It also owns the two files by which processes of one data folder find
// each other, the lock and runtime.json.
//
// A request passes, in this order:
//
//	Listen        a loopback address
//	Guard         Host, Origin, Sec-Fetch-Site, method, content type, size
//	Bearer        a client's token (the bridge)       → X-Drawbridge-Client
//	Admin or      the admin token, or a cookie and
//	Sessions      a key together (the API)
//
// The checks of Guard are all needed: a page reached by DNS rebinding sends no
// Origin and no Sec-Fetch-Site but the wrong Host; an <img> or <script> of a foreign
// page sends no Origin; a WebSocket handshake sends no Sec-Fetch-Site.
//
// What this cannot do: tell apart programs of the same user. Whoever can read the
// files of the data folder is the user.
package loopback
