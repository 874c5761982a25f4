package bridge

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"drawbridge/backend/hub"
	"drawbridge/backend/wire"

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

// failure is a JSON-RPC error on its way to a client.
type failure struct {
	code   int
	object []byte // the raw error object
}

func failed(code int, message string) *failure {
	return &failure{code: code, object: wire.ErrorObject(code, message, nil)}
}

// failedUpstream passes a server's own error object on. Only one code differs
// between the eras: a resource that is not there.
func failedUpstream(object []byte, era hub.Era) *failure {
	f := &failure{object: object}
	var at hub.Span
	_ = wire.Members(object, func(m wire.Member) error {
		if string(m.Name) == "code" {
			at = m.Value
		}
		return nil
	})
	code, _ := wire.Int(object, at)
	f.code = int(code)
	if era == hub.Modern && f.code == codeResourceNotFound {
		f.code = codeInvalidParams
		f.object = wire.Splice(nil, object, wire.Edit{Span: at, With: strconv.AppendInt(nil, codeInvalidParams, 10)})
	}
	return f
}

// failedHere turns an error of the call path into what a client gets. A tool that
// could not be run is a tool result that says why, so that the model reads it; a
// request that was wrong, and anything but a tool call, is a JSON-RPC error. name is
// what the client asked for; a resource that is not there is named again.
func failedHere(method, name string, era hub.Era, err error) (result []byte, f *failure) {
	code := hub.CodeOf(err)
	message, hint := hub.Describe(err)
	retriable := false
	if e, ok := errors.AsType[*hub.Error](err); ok {
		retriable = e.Retriable
	}
	rpc, uri := codeRefused, ""
	switch code {
	case hub.CodeValidation:
		rpc = codeInvalidParams
	case hub.CodeNotFound:
		rpc = codeInvalidParams
		if method == "resources/read" {
			uri = name
			if era == hub.Legacy {
				rpc = codeResourceNotFound
			}
		}
	case hub.CodeInternal:
		rpc = codeInternal
	}
	if method == "tools/call" {
		switch code {
		case hub.CodeValidation, hub.CodeNotFound, hub.CodeUnauthorized, hub.CodeCancelled:
		default:
			return toolFailure(code, message, hint, retriable), nil
		}
	}
	data, _ := json.Marshal(struct {
		Code      hub.Code `json:"code"`
		Hint      string   `json:"hint,omitempty"`
		Retriable bool     `json:"retriable,omitempty"`
		URI       string   `json:"uri,omitempty"`
	}{code, hint, retriable, uri})
	return nil, &failure{code: rpc, object: wire.ErrorObject(rpc, message, data)}
}

func toolFailure(code hub.Code, message, hint string, retriable bool) []byte {
	text := message
	if hint != "" {
		text += ". " + hint
	}
	text += " (code=" + string(code)
	if retriable {
		text += " retriable=true"
	}
	text += ")"
	out := append([]byte(nil), `{"content":[{"type":"text","text":`...)
	out = wire.AppendString(out, text)
	return append(out, `}],"isError":true}`...)
}

// status is the HTTP status that an era wants for an error which is all that is sent.
func (f *failure) status(era hub.Era) int {
	if era == hub.Modern {
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
func (f *failure) sdk() error {
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
