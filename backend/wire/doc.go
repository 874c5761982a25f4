// Package wire speaks raw JSON-RPC with servers: framing, an envelope scanner
// that never decodes a payload, splicing of the few fields that we rewrite, and
// a multiplexer that runs many calls over one pipe.
//
// Fidelity is the point. What a server says reaches the client with the same
// tokens in the same order, numbers and escapes spelled as sent. Three things
// are changed, and nothing else: insignificant white space may go, text that is
// no valid Unicode becomes U+FFFD, and ids and progress tokens are ours on one
// side and the client's on the other.
//
// The scanner validates a message completely in the pass that finds its spans,
// so that what was checked is what is sent.
package wire
