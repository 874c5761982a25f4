// Package wire speaks raw JSON-RPC with servers: framing, an envelope scanner that never decodes a
// payload, splicing of the few rewritten fields, and a multiplexer of many calls over one
// connection ([Mux]), over pipes or HTTP.
//
// What a server says reaches the client with the same tokens in the same order, numbers and escapes
// spelled as sent. Three things change: insignificant white space may be removed, invalid Unicode
// becomes U+FFFD, and ids and progress tokens are mapped. The scanner validates a message
// completely in the pass that finds its spans, so that exactly the checked bytes are sent.
package wire
