package wire

import (
	"errors"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// The keys of _meta that the modern era gives a meaning.
const (
	MetaPrefix             = "io.modelcontextprotocol/"
	MetaProtocolVersion    = MetaPrefix + "protocolVersion"
	MetaClientInfo         = MetaPrefix + "clientInfo"
	MetaClientCapabilities = MetaPrefix + "clientCapabilities"
	MetaLogLevel           = MetaPrefix + "logLevel"
	MetaSubscriptionID     = MetaPrefix + "subscriptionId"
	MetaServerInfo         = MetaPrefix + "serverInfo" // in results
	MetaRelatedTask        = MetaPrefix + "related-task"
)

// Params holds the parts of a params object that routing and translation look at.
// All spans are ranges of the bytes given to ScanParams, raw, and empty when absent.
type Params struct {
	Name                  core.Span // of a tool or prompt
	URI                   core.Span // of a resource
	Arguments             core.Span
	Meta                  core.Span // the whole _meta object
	Cursor                core.Span
	Ref                   core.Span // completion/complete: the whole ref object
	Level                 core.Span // logging/setLevel
	RequestID             core.Span // notifications/cancelled: requestId
	Reason                core.Span // notifications/cancelled: reason
	NotifiedProgressToken core.Span // notifications/progress: progressToken at the top
	TaskID                core.Span // tasks/...

	InputResponses, RequestState core.Span // retries of the modern era

	// Of initialize.
	InitVersion, InitInfo, InitCapabilities core.Span

	// Of _meta.
	ProgressToken      core.Span
	ProtocolVersion    core.Span
	ClientInfo         core.Span
	ClientCapabilities core.Span
	LogLevel           core.Span
	SubscriptionID     core.Span
	RelatedTask        core.Span // the object with the taskId of the task that a message belongs to
	TraceParent        core.Span
}

// ScanParams validates params as one JSON object and finds its known members in
// the same pass. Keys at its top and at the top of _meta must be unique, also after
// unescaping and case folding, and free of U+0000. Empty params and null are valid and empty.
// It allocates nothing. The error is an *Error with code -32602, or -32700 when
// params are not JSON.
func ScanParams(params []byte) (Params, error) {
	var p Params
	s := scanner{b: params}
	i := s.space(0)
	if i == len(params) || string(params[i:]) == "null" {
		return p, nil
	}
	if params[i] != '{' {
		return p, &Error{Code: CodeInvalidParams, Offset: i, Reason: "params are not an object"}
	}
	i, err := s.members(i, 1, func(m Member) error {
		if string(m.Name) == "_meta" {
			p.Meta = m.Value
			return nil
		}
		if at := p.field(m.Name); at != nil {
			*at = m.Value
		}
		return nil
	})
	if err == nil && s.space(i) < len(params) {
		_, err = s.parseError(i, "more than one value")
	}
	if err == nil && !p.Meta.Empty() {
		err = p.scanMeta(params)
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeInvalidRequest {
		e.Code = CodeInvalidParams
	}
	return p, err
}

func (p *Params) scanMeta(params []byte) error {
	if params[p.Meta.Start] != '{' {
		if string(params[p.Meta.Start:p.Meta.End]) == "null" {
			return nil
		}
		return &Error{Code: CodeInvalidParams, Offset: p.Meta.Start, Reason: "_meta is not an object"}
	}
	s := scanner{b: params[:p.Meta.End]}
	_, err := s.members(p.Meta.Start, 2, func(m Member) error {
		if at := p.metaField(m.Name); at != nil {
			*at = m.Value
		}
		return nil
	})
	return err
}

func (p *Params) field(name []byte) *core.Span {
	switch string(name) {
	case "name":
		return &p.Name
	case "uri":
		return &p.URI
	case "arguments":
		return &p.Arguments
	case "cursor":
		return &p.Cursor
	case "ref":
		return &p.Ref
	case "level":
		return &p.Level
	case "requestId":
		return &p.RequestID
	case "reason":
		return &p.Reason
	case "progressToken":
		return &p.NotifiedProgressToken
	case "taskId":
		return &p.TaskID
	case "inputResponses":
		return &p.InputResponses
	case "requestState":
		return &p.RequestState
	case "protocolVersion":
		return &p.InitVersion
	case "clientInfo":
		return &p.InitInfo
	case "capabilities":
		return &p.InitCapabilities
	}
	return nil
}

func (p *Params) metaField(name []byte) *core.Span {
	switch string(name) {
	case "progressToken":
		return &p.ProgressToken
	case MetaProtocolVersion:
		return &p.ProtocolVersion
	case MetaClientInfo:
		return &p.ClientInfo
	case MetaClientCapabilities:
		return &p.ClientCapabilities
	case MetaLogLevel:
		return &p.LogLevel
	case MetaSubscriptionID:
		return &p.SubscriptionID
	case MetaRelatedTask:
		return &p.RelatedTask
	case "traceparent":
		return &p.TraceParent
	}
	return nil
}

// Bytes returns the part of src that span covers, or nil when it is absent.
func Bytes(src []byte, span core.Span) []byte {
	if span.Empty() {
		return nil
	}
	return src[span.Start:span.End:span.End]
}

// Int returns the value of a span that holds a plain decimal integer.
func Int(src []byte, span core.Span) (int64, bool) {
	if span.Empty() || span.End-span.Start > 19 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(src[span.Start:span.End]), 10, 64)
	return n, err == nil
}

// protocolMethods are the first parts of the methods that the protocol itself has or reserves, with and
// without "notifications/". Their meaning is known, and policy and approvals apply to them.
var protocolMethods = map[string]bool{
	"tools": true, "prompts": true, "resources": true, "completion": true, "logging": true, "sampling": true, "elicitation": true, "roots": true,
	"notifications": true, "subscriptions": true, "server": true, "tasks": true, "initialize": true, "ping": true, "rpc": true,
	"initialized": true, "cancelled": true, "progress": true, "message": true,
}

const maxExtensionMethod = 256 // bytes

// IsExtensionMethod reports whether a request of the method may belong to an extension that Drawbridge
// does not know.
func IsExtensionMethod(method string) bool {
	first, _, _ := strings.Cut(method, "/")
	first, _, _ = strings.Cut(first, ".")
	return method != "" && len(method) <= maxExtensionMethod && !protocolMethods[strings.ToLower(first)]
}

// IsExtensionNotification is IsExtensionMethod for notifications.
func IsExtensionNotification(method string) bool {
	return IsExtensionMethod(strings.TrimPrefix(method, "notifications/"))
}
