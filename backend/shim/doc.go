// Package shim connects clients that can only start programs: it forwards JSON-RPC messages between
// stdin and stdout and the HTTP endpoint of the bridge.
//
// Messages are forwarded unchanged. [Run] reads only what it needs to choose the headers: in the
// legacy era it keeps the session and its stream, in the modern era each request is independent.
// The shim survives a restart of the daemon: it repeats the handshake, announces that the lists
// may have changed, and continues.
package shim
