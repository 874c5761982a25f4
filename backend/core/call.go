package core

import (
	"context"
	"encoding/json"
	"time"
)

// Era is one of the two ways to speak MCP.
type Era string

const (
	Legacy Era = "legacy" // initialize, sessions: revisions up to 2025-11-25
	Modern Era = "modern" // stateless requests with _meta: revision 2026-07-28
)

// ModernVersion is the protocol revision that opened the modern era.
const ModernVersion = "2026-07-28"

// LegacyVersion is the newest revision of the legacy era.
const LegacyVersion = "2025-11-25"

// Outcome says how a call ended.
type Outcome string

const (
	OutcomeRunning       Outcome = ""               // not ended yet
	OutcomeOK            Outcome = "ok"             // a result
	OutcomeToolError     Outcome = "tool_error"     // a result with isError
	OutcomeProtocolError Outcome = "protocol_error" // a JSON-RPC error, or the connection broke
	OutcomeTimeout       Outcome = "timeout"        // our deadline passed
	OutcomeCancelled     Outcome = "cancelled"      // the client gave up
	OutcomeRejected      Outcome = "rejected"       // policy said no; Code and Reason say why
)

// Approval is what the user said to a call that waited for them.
type Approval string

// The answers of the user, and how it ends without one.
const (
	ApprovedOnce    Approval = "once"
	ApprovedMinutes Approval = "minutes" // now or a short while ago, for a while
	ApprovedAlways  Approval = "always"  // and written into the configuration
	Denied          Approval = "denied"
	ApprovalExpired Approval = "expired" // nobody answered in time
	ApprovalNobody  Approval = "nobody"  // nobody could be asked
)

// Client is who calls: the token that was shown, and what the application says of itself.
type Client struct {
	Token   string `json:"token"`   // the name under which the token was issued; "" without one
	Name    string `json:"name"`    // clientInfo.name, as claimed
	Version string `json:"version"` // clientInfo.version, as claimed
}

// Span is a half-open range of bytes in a raw message. The zero Span is "absent".
type Span struct{ Start, End int }

// Empty reports whether the span covers nothing.
func (s Span) Empty() bool { return s.End <= s.Start }

// Call is one JSON-RPC request between a client and a server, and how it ended.
// The bridge fills the first part, the gateway the second. One goroutine owns it
// at a time; once it has been handed to a recorder or the bus it is read-only.
type Call struct {
	ID     int64     // ours, unique and growing: microseconds since 1970, made distinct
	At     time.Time // when it reached us, UTC
	Began  time.Time // the same moment with its monotonic reading: Took is measured from it
	Client Client
	// Session is the legacy session id, or "" in the modern era.
	Session string
	// Shim identifies the stdio shim process the call came through, or "".
	Shim string
	// Workspace is the absolute path of the folder that the client works in: its first
	// root that is a file, or the folder in which its shim was started; "" when unknown.
	Workspace string
	Era       Era
	// FromServer marks a request that a server sent to a client (sampling, elicitation, roots).
	FromServer bool
	Server     string // server id; "" when the name did not resolve
	Method     string // "tools/call", "prompts/get", "resources/read", "completion/complete", ...
	Name       string // tool or prompt name as the server knows it, or the resource URI
	PublicName string // the name that the client used

	// Params is the raw params object as the server gets it: names already
	// rewritten, everything else as the client sent it. It may alias a request buffer
	// and is valid until the recorder has copied what it keeps.
	Params json.RawMessage
	// Arguments, Meta and ProgressToken are ranges of Params. An empty Meta says nothing:
	// not every caller looks for it.
	Arguments     Span
	Meta          Span
	ProgressToken Span
	// Introduced says that Params hold all that a modern request has in its _meta.
	Introduced bool
	// Capabilities is what the client says it can do, the raw object from its
	// initialize or from the request's _meta; nil when it said nothing.
	Capabilities json.RawMessage
	// LogLevel is the least severe level of the server's log lines that the client
	// wants with this call, "" for the server's choice.
	LogLevel string

	// Profile is the one that bounds what its client sees, "" for none. It is not recorded.
	Profile string

	// Local answers the call in place of a server: the tools that stand for others are
	// ours. Nil for every other call. It is not recorded.
	Local func(context.Context) Reply

	// ByPerson marks a call that the user at this machine makes through the API: it
	// needs no approval. Continues marks a further round of a call that policy let
	// through. Neither is recorded.
	ByPerson, Continues bool

	Outcome  Outcome
	Code     Code
	Reason   string // one sentence for people when the call did not end well
	Stack    string // where it went wrong, when that was a mistake of ours; the bus and its observers have no use for it
	Took     time.Duration
	Queued   time.Duration // part of Took spent waiting for the user, a start or a free slot
	BytesIn  int           // size of Params
	BytesOut int           // size of the result or error
	Attempts int           // how often it was tried; more than 1 when it was sent again
	Instance string        // which upstream connection served it
	Progress int           // progress notifications that passed
	TraceID  string        // from the client's traceparent, or ""
	SpanID   string        // the client's span, from the same; it is not recorded
	Verdict  *Verdict      // in what was recorded: nil when nothing is wrong with the result
	Protocol string        // the revision of MCP that the client speaks, "" when unknown; it is not recorded
	Repaired bool          // the request or its answer held text that was not valid Unicode
	Cached   bool          // answered from the cache: no server was asked
	Approval Approval      // what the user said, "" when nobody was asked
}

// Verdict says what of a result is not as its tool promised.
type Verdict struct {
	Level   string // "warn" or "error", as the configuration of the server says
	Problem string // one sentence
}

// Reply is what a server answered: exactly one of the two is set, both raw.
// Error is the JSON-RPC error object.
type Reply struct {
	Result json.RawMessage
	Error  json.RawMessage
	// Repaired says that text in it was not valid Unicode and was replaced by U+FFFD.
	Repaired bool
}

// Sink receives what belongs to one call besides its reply, in wire order and
// never after the call returned. Notify must not keep params.
type Sink interface {
	// Notify passes a notification on: notifications/progress (with the client's
	// own token restored) or notifications/message.
	Notify(method string, params json.RawMessage)
	// Ask sends a request of the server to the client and waits for its reply.
	Ask(ctx context.Context, method string, params json.RawMessage) (Reply, error)
}
