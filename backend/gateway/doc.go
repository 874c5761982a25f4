// Package gateway is the call path: every request between a client and a server, in either
// direction, passes through [Gateway.Call] and is recorded there.
//
// For each call the gateway asks the policy, finds the upstream, applies the timeout, retries where
// the rules allow it, and hands the finished call to the recorder. A panic ends only its own call.
// Payloads are never decoded, except to find out whether a tool reported an error.
package gateway
