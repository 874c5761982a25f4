package core

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Era is one of the two incompatible generations of the MCP protocol.
type Era string

const (
	Legacy Era = "legacy" // initialize and sessions; revisions up to 2025-11-25
	Modern Era = "modern" // stateless requests with _meta; revision 2026-07-28
)

// ModernVersion is the first protocol revision of the modern era.
const ModernVersion = "2026-07-28"

// LegacyVersion is the newest revision of the legacy era.
const LegacyVersion = "2025-11-25"

// Requests that the protocol does not have. A connection to a modern server starts or ends the
// notifications about a task, whose id is in the params.
const (
	SubscribeTask   = "tasks/subscribe"
	UnsubscribeTask = "tasks/unsubscribe"
)

// PreviewMethod is the method with which the preview of a tool call is recorded, so that it never counts as a call.
const PreviewMethod = "tools/preview"

// DefaultAccount is the account whose credentials are those of the server itself. Calls to a server
// without accounts have none.
const DefaultAccount = "default"

// Outcome is the result category of a call.
type Outcome string

const (
	OutcomeRunning       Outcome = ""               // the call has not ended
	OutcomeOK            Outcome = "ok"             // a result
	OutcomeToolError     Outcome = "tool_error"     // a result with isError
	OutcomeProtocolError Outcome = "protocol_error" // a JSON-RPC error, or the connection was lost
	OutcomeTimeout       Outcome = "timeout"        // the deadline of Drawbridge passed
	OutcomeCancelled     Outcome = "cancelled"      // the client cancelled the call
	OutcomeRejected      Outcome = "rejected"       // policy refused the call; Code and Reason have the details
)

// Approval is the result of asking the user to approve a call.
type Approval string

// The answers of the user, and the results without one.
const (
	ApprovedOnce    Approval = "once"
	ApprovedMinutes Approval = "minutes" // approved for some minutes, by this answer or a recent one
	ApprovedSession Approval = "session" // approved for the rest of the session, by this answer or an earlier one
	ApprovedAlways  Approval = "always"  // approved and added to the configuration
	Denied          Approval = "denied"
	ApprovalExpired Approval = "expired" // no answer in time
	ApprovalNobody  Approval = "nobody"  // the user could not be asked
)

// Names of the Client of calls that the user makes.
const (
	PageClient    = "drawbridge-ui"
	CommandClient = "drawbridge-cli"
)

// Client identifies a client by its token, and describes it by what it claims about itself.
type Client struct {
	Token   string `json:"token"`   // the name of the token; "" without one
	Name    string `json:"name"`    // clientInfo.name, as claimed
	Version string `json:"version"` // clientInfo.version, as claimed
}

// Span is a half-open byte range in a raw message. The zero Span means absent.
type Span struct{ Start, End int }

// Empty reports whether the span contains no bytes.
func (s Span) Empty() bool { return s.End <= s.Start }

// Call is one JSON-RPC request between a client and a server, and its outcome. The bridge fills in
// the first part, the gateway the second. One goroutine at a time owns a Call; after it was passed
// to a recorder or to the event bus it is read-only.
type Call struct {
	ID     int64     // unique and increasing: microseconds since 1970, adjusted to be distinct
	At     time.Time // arrival, UTC
	Began  time.Time // arrival, with monotonic reading; Took is measured from it
	Client Client
	// Session is the id of the legacy session, or of the session that the bridge inferred for a
	// modern client. An inferred id only groups calls; LegacySession is for decisions.
	Session string
	// Shim is the id of the stdio shim process that forwarded the call, or "".
	Shim string
	// Workspace is the absolute path of the client's working folder: its first root that is a file
	// URI, or the folder in which its shim was started; "" if unknown.
	Workspace string
	// OtherRoots are the further roots of the client, if it was asked for them.
	OtherRoots []string
	Era        Era
	// FromServer is set for a request from a server to a client (sampling, elicitation, roots).
	FromServer bool
	Server     string // server id; "" if the name could not be resolved
	Method     string // "tools/call", "prompts/get", "resources/read", "completion/complete", ...
	Name       string // the server's own name for the tool or prompt, or the resource URI
	PublicName string // the name that the client used

	// Params is the raw params object for the server: names are rewritten, everything else is as
	// the client sent it. It may alias a request buffer and is valid until the recorder has copied
	// it.
	Params json.RawMessage
	// Arguments, Meta and ProgressToken are ranges of Params. An empty Meta does not mean that
	// Params has no _meta, because not every caller sets it.
	Arguments     Span
	Meta          Span
	ProgressToken Span
	// HasModernMeta means that the _meta of Params has all members that a modern request requires.
	HasModernMeta bool
	// Capabilities is the raw object of client capabilities from initialize or from the _meta of
	// the request; nil if there is none.
	Capabilities json.RawMessage
	// LogLevel is the minimum level of the server's log messages that the client wants during this
	// call; "" leaves the choice to the server.
	LogLevel string

	// Account is the account of the server that the call uses; "" if the server has no accounts.
	// The gateway chooses it, unless it is set already: then the call uses this account or fails.
	Account string

	// AccountChosen means that the gateway has chosen Account. It is not recorded.
	AccountChosen bool

	// Admission is set by policy, and kept for the further rounds of the call. It is not recorded.
	Admission Admission

	// Profile is the profile that limits what the client sees; "" for none. It is not recorded.
	Profile string

	// Local, if not nil, answers the call instead of a server. It is set for the tools that
	// Drawbridge itself lists to clients. It is not recorded.
	Local func(context.Context) Reply

	// Task is the task that the call has created or is about; nil if there is none.
	Task *Task

	// OneWay means that the call is a notification: it is sent, and has no reply.
	OneWay bool

	// WorthRecording, if not nil, reports whether a successful call with this reply is worth
	// recording. It is set for requests that poll the state of a task.
	WorthRecording func(Reply) bool

	// RecordedUnchangedAs, if not nil, is set by the recorder to the id of the call if it has
	// recorded the result unchanged. The result is then recorded even if it is longer than others
	// may be.
	RecordedUnchangedAs *int64

	// ByUser is set for a call that the user makes through the API; it needs no approval.
	// Continues is set for a further round of a call that policy has admitted. Neither is recorded.
	ByUser, Continues bool
	// Preview is set for a call that shows what a pending call would do. It needs no approval, and is recorded with
	// PreviewMethod.
	Preview bool
	// Similar is the offered name that is most similar to PublicName, which does not exist; "" if none is.
	Similar string

	Outcome  Outcome
	Code     Code
	Reason   string // one sentence for the user if the call failed
	HiddenBy string // the profile that hides from the client what the call names; only the user may know
	Stack    string // stack trace of an internal error; not for the event bus
	Took     time.Duration
	Queued   time.Duration // part of Took spent waiting for the user, a server start or a free slot
	BytesIn  int           // size of Params
	BytesOut int           // size of the result or error
	Attempts int           // number of attempts; more than 1 after a retry
	Instance string        // id of the upstream connection
	Progress int           // number of progress notifications
	// ProgressLog has the first MaxProgressLog of these, up to MaxProgressBytes. It is not changed
	// after the call. After a retry it has those of the last attempt.
	ProgressLog []ProgressNotification
	TraceID     string          // from the client's traceparent, or ""
	SpanID      string          // from the client's traceparent, or ""; not recorded
	Verdict     *SchemaMismatch // result of the checks on the result; nil if they found nothing
	Protocol    string          // protocol revision of the client, or ""; not recorded
	Repaired    bool            // the request or the reply contained invalid Unicode, which was replaced
	ServedBy    *ServedBy       // what answered; nil if no server did. It is not changed after it is set
	Cached      bool            // answered from the cache, without the server
	Approval    Approval        // "" if the user was not asked
}

// Limits of Call.ProgressLog.
const (
	MaxProgressLog   = 100
	MaxProgressBytes = 16 << 10
)

// ProgressNotification is a progress notification of a server.
type ProgressNotification struct {
	AfterMs int64           `json:"afterMs" doc:"Time since the call was sent, in milliseconds"`
	Params  json.RawMessage `json:"params" doc:"Without the progress token"`
}

// LegacySession returns the id of the legacy session, or "" in the modern era.
func (c *Call) LegacySession() string {
	if c.Era == Modern {
		return ""
	}
	return c.Session
}

// ServedBy identifies the version of a server and of its tool.
type ServedBy struct {
	Name, Version string   // as the server reported them in the handshake
	Package       string   // package with its version, or image; "" if unknown
	Definition    [16]byte // hash of the definition of the tool, as trust hashes it; zero for other requests
}

// String returns the name and the version that the server reports, and its package.
func (s *ServedBy) String() string {
	if s == nil {
		return ""
	}
	text := strings.TrimSpace(s.Name + " " + s.Version)
	if s.Package != "" {
		text = strings.TrimSpace(text + " (" + s.Package + ")")
	}
	return text
}

// SchemaMismatch describes how a result differs from what its tool declares.
type SchemaMismatch struct {
	Level   string // "warn" or "error", depending on the configuration of the server
	Problem string // one sentence
}

// Reply is the reply of a server: exactly one of Result and Error is set, both raw. Error is the
// JSON-RPC error object.
type Reply struct {
	Result json.RawMessage
	Error  json.RawMessage
	// Repaired means that the reply contained invalid Unicode, which was replaced by U+FFFD.
	Repaired bool
	// Task is Call.Task after the call. The gateway sets it.
	Task *Task
}

// Admission identifies what a call was admitted to. A call that has waited is sent only if this is
// still the same. The fields after Launch are set only for a call that needs the user's approval.
type Admission struct {
	Launch     string // the command, environment, address and credentials of the server
	Process    string // that would have served the call; "" if none was running
	Definition string // hash of the definition of the tool
	Rule       string // the argument rule that asked, or ""
	// Approved identifies exactly what the user has approved: definition, arguments, account and launch settings. It
	// is "" for a call that an earlier answer permits.
	Approved string
	// Unchanged returns an error if what the call acts on is not as the user saw it. It is called before the call is
	// sent, never afterwards; nil if the user saw nothing of it.
	Unchanged func() error
}

// ClientAdmission may be implemented by a ServerMessageHandler. StillAdmitted returns why the client
// of a call may not make it any more, or nil.
type ClientAdmission interface {
	StillAdmitted(call *Call) error
}

// hiddenMark is in the Reason of a call to what a profile hides. It cannot occur in the quoted name
// before it.
const (
	hiddenMark = `": the profile "`
	hiddenEnd  = `" hides it from this client`
)

// RecordedMethod returns the method with which the call is recorded.
func (c *Call) RecordedMethod() string {
	if c.Preview {
		return PreviewMethod
	}
	return c.Method
}

// ReasonForUser returns the reason of an error, and that a profile hides what the call names.
func (c *Call) ReasonForUser(reason string) string {
	said := DidYouMean(c.Similar)
	if head, quoted := strings.CutSuffix(reason, `"`+said); quoted && c.HiddenBy != "" {
		return head + hiddenMark + c.HiddenBy + hiddenEnd + said
	}
	return reason
}

// DidYouMean ends a message about a name that does not exist with a similar one, if there is one.
func DidYouMean(similar string) string {
	if similar == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", similar)
}

// ReasonForClient returns Reason as the client got it.
func (c *Call) ReasonForClient() string {
	if head, rest, hidden := strings.Cut(c.Reason, hiddenMark); hidden && c.Server == "" && c.Code == CodeNotFound {
		_, said, _ := strings.Cut(rest, hiddenEnd)
		return head + `"` + said
	}
	return c.Reason
}

// readmitterKey is the key of the Readmitter of a context.
type readmitterKey struct{}

// Readmitter is a call that was admitted. Readmit returns why it may not be made any more, or nil.
type Readmitter interface {
	Readmit() error
}

// WithReadmitter returns the context with which call is sent; nil is none.
func WithReadmitter(ctx context.Context, call Readmitter) context.Context {
	return context.WithValue(ctx, readmitterKey{}, call)
}

// Readmit must be called before a call is sent that has waited inside its upstream. It returns why
// the call may not be sent any more, or nil. ctx is that of the call.
func Readmit(ctx context.Context) error {
	if call, ok := ctx.Value(readmitterKey{}).(Readmitter); ok {
		return call.Readmit()
	}
	return nil
}

// ReplyObserver may be implemented by a ServerMessageHandler. ObserveReply is called with the reply
// of the server before later messages of the same connection are handled. It must not block or
// retain the reply.
type ReplyObserver interface {
	ObserveReply(reply Reply)
}

// ServerMessageHandler receives the messages of the server that belong to one call, other than its
// reply, in wire order and never after the call has returned. Notify must not retain params.
type ServerMessageHandler interface {
	// Notify forwards a notification: notifications/progress (with the client's progress token
	// restored) or notifications/message.
	Notify(method string, params json.RawMessage)
	// Ask sends a request of the server to the client and waits for the reply.
	Ask(ctx context.Context, method string, params json.RawMessage) (Reply, error)
}

// Task is the task that a call has created, or that a request is about. It is not changed after it
// is set.
type Task struct {
	Call      int64         // id of the call that created the task
	ID        string        // as the server knows it
	Status    string        // after the request; "" if the reply does not tell
	TTL       time.Duration // as the server stated it; negative: not limited
	Ended     bool          // the request has returned the final state
	HasResult bool          // the request has returned the result or the error of the call
}

// MaxTaskID is the maximum length of the id of a task, in bytes. The call that creates a task with
// a longer one fails.
const MaxTaskID = 1024

// A task is known for its ttl, at most for MaxTaskLife. A task without a ttl is known for
// UnlimitedTaskLife after the last request about it.
const (
	MaxTaskLife       = 7 * 24 * time.Hour
	UnlimitedTaskLife = 24 * time.Hour
)

// TaskExpired is the status in the history of a task that has expired before it was seen to end.
const TaskExpired = "expired"

// TaskExpiry returns when a task expires. A negative ttl is not limited.
func TaskExpiry(ttl time.Duration, created, updated time.Time) time.Time {
	if ttl < 0 {
		return updated.Add(UnlimitedTaskLife)
	}
	return created.Add(min(ttl, MaxTaskLife))
}

// IsTaskRequest reports whether the call is a request about the task of another call.
func (c *Call) IsTaskRequest() bool { return c.Task != nil && c.Task.Call != c.ID }

// TaskOwner is who may use a task, as far as it is recorded, and what requests about the task need.
type TaskOwner struct {
	Task
	Client     Client
	Era        Era
	Server     string
	Name       string // of the tool
	PublicName string // name that the client used
	Workspace  string
	Account    string
	Created    time.Time
	Updated    time.Time // the last recorded request
}

// Sleep pauses, and returns false if ctx ends first.
func Sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
