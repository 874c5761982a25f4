package bridge

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The error codes that we use besides those a server sends.
const (
	codeParse            = wire.CodeParse
	codeInvalidRequest   = wire.CodeInvalidRequest
	codeMethodNotFound   = wire.CodeMethodNotFound
	codeInvalidParams    = wire.CodeInvalidParams
	codeInternal         = wire.CodeInternal
	codeRefused          = wire.CodeRefused
	codeNotFound         = -32001 // at the edge: no such address or session
	codeResourceNotFound = -32002 // of the legacy era; the modern one says codeInvalidParams
	codeHeaderMismatch   = -32020
	codeNeedsCapability  = -32021
	codeBadVersion       = -32022
)

// rpcError is a JSON-RPC error on its way to a client.
type rpcError struct {
	code   int
	object []byte // the raw error object
}

func newError(code int, message string) *rpcError {
	return &rpcError{code: code, object: wire.ErrorObject(code, message, nil)}
}

// upstreamError passes a server's own error object on. Only one code differs
// between the eras: a resource that is not there.
func upstreamError(object []byte, era core.Era) *rpcError {
	f := &rpcError{object: object}
	var at core.Span
	_ = wire.Members(object, func(m wire.Member) error {
		if string(m.Name) == "code" {
			at = m.Value
		}
		return nil
	})
	code, _ := wire.Int(object, at)
	f.code = int(code)
	if era == core.Modern && f.code == codeResourceNotFound {
		f.code = codeInvalidParams
		f.object = wire.Splice(nil, object, wire.Edit{Span: at, With: strconv.AppendInt(nil, codeInvalidParams, 10)})
	}
	return f
}

// localError turns an error of the call path into what a client gets. What the model
// should read is a tool result that says why the tool was not run, and what to do;
// what the protocol makes an error, and anything but a tool call, is a JSON-RPC error.
// name is what the client asked for; a resource that is not there is named again.
func localError(method, server, name string, era core.Era, err error) (result []byte, f *rpcError) {
	about := detailsOf(err)
	rpc := codeRefused
	switch about.Code {
	case core.CodeValidation:
		rpc = codeInvalidParams
	case core.CodeNotFound:
		rpc = codeInvalidParams
		if method == "resources/read" {
			about.URI = name
			if era == core.Legacy {
				rpc = codeResourceNotFound
			}
		}
	case core.CodeInternal:
		rpc = codeInternal
	}
	if method == "tools/call" && actionableByModel(about) {
		return toolErrorResult(about, server), nil
	}
	message := about.Message
	about.Message = "" // it stands in the error itself
	data, _ := json.Marshal(about)
	return nil, &rpcError{code: rpc, object: wire.ErrorObject(rpc, message, data)}
}

// errorDetails is what machines may know of a failure.
type errorDetails struct {
	Code      core.Code         `json:"code"`
	Message   string            `json:"message,omitempty"`
	Hint      string            `json:"hint,omitempty"`
	Retriable bool              `json:"retriable,omitempty"`
	URI       string            `json:"uri,omitempty"`
	Errors    []core.FieldError `json:"errors,omitempty"`
}

func detailsOf(err error) errorDetails {
	a := errorDetails{Code: core.CodeOf(err)}
	a.Message, a.Hint = core.Describe(err)
	if e, ok := errors.AsType[*core.Error](err); ok {
		a.Retriable, a.Errors = e.Retriable, e.Fields
	}
	return a
}

// actionableByModel tells what a model can act on from what only its client can: a tool that is
// not there and a request that makes no sense are errors of the protocol, arguments
// that do not fit are not.
func actionableByModel(a errorDetails) bool {
	switch a.Code {
	case core.CodeNotFound, core.CodeCancelled:
		return false
	case core.CodeValidation:
		return len(a.Errors) > 0
	}
	return true
}

// toolErrorResult is a tool result of ours. Its details stand in the text and in _meta,
// never in structuredContent, which the tool's outputSchema describes.
func toolErrorResult(a errorDetails, server string) []byte {
	reason := a.Message
	if a.Hint != "" {
		reason += ". " + a.Hint
	}
	out := append([]byte(nil), `{"content":[`...)
	text := func(s string) {
		out = append(out, `{"type":"text","text":`...)
		out = append(wire.AppendString(out, s), '}')
	}
	suffix := " (code=" + string(a.Code)
	if a.Retriable {
		suffix += " retriable=true"
	}
	suffix += ")"
	if (a.Code == core.CodeUnavailable || a.Code == core.CodeBreakerOpen) && a.Retriable && server != "" {
		text(server + " is temporarily unavailable. Please try again later." + suffix)
		out = append(out, ',')
		text(reason)
		out = append(out, `],"isError":true,"_meta":{"status":"degraded",`...)
	} else {
		text(reason + suffix)
		out = append(out, `],"isError":true,"_meta":{`...)
		if a.Code == core.CodeDegraded {
			out = append(out, `"status":"degraded",`...)
		}
	}
	details, _ := json.Marshal(a)
	out = append(append(out, `"`+metaError+`":`...), details...)
	return append(out, `}}`...)
}

// metaError is where a result of ours says what machines may know of a failure.
const metaError = "drawbridge/error"

// status is the HTTP status that an era wants for an error which is all that is sent.
func (f *rpcError) status(era core.Era) int {
	if era == core.Modern {
		switch f.code {
		case codeMethodNotFound:
			return http.StatusNotFound
		case codeInvalidParams, codeBadVersion, codeNeedsCapability, codeHeaderMismatch:
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}

// sdk is the failure in go-sdk's type.
func (f *rpcError) sdk() error {
	e := &jsonrpc.Error{Code: int64(f.code)}
	var raw struct {
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(f.object, &raw); err != nil {
		return &jsonrpc.Error{Code: codeInternal, Message: "the server sent an error that cannot be read"}
	}
	e.Message, e.Data = raw.Message, raw.Data
	return e
}

// refuse answers a request that never became a message.
func refuse(w http.ResponseWriter, status, code int, message string) {
	writeError(w, status, nil, code, message)
}

// refuseMessage answers a body that was refused by the scanner.
func refuseMessage(w http.ResponseWriter, m *message, err error) {
	code, reason := codeParse, "the message cannot be read"
	if e, ok := errors.AsType[*wire.Error](err); ok {
		code, reason = e.Code, "the message was refused: "+e.Reason
	}
	var id []byte
	if m != nil {
		id = m.id()
	}
	writeError(w, http.StatusBadRequest, id, code, reason)
}

func writeError(w http.ResponseWriter, status int, id []byte, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(wire.AppendError(nil, id, code, message, nil))
}
