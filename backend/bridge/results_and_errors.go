package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

const metaServerInfo = wire.MetaPrefix + "serverInfo"

// cacheMembers are the cache fields of a modern list result. Lists depend on the client, so they
// are private, and they may change at any time.
const cacheMembers = `"ttlMs":0,"cacheScope":"private"`

// modernResults adds what results must have in the modern era.
type modernResults struct {
	serverInfo   []byte // raw serverInfo of Drawbridge
	listSuffix   []byte // replaces the closing brace of a cached list
	resultSuffix []byte // replaces the closing brace of the result of a legacy server
}

func newModernResults(info []byte) modernResults {
	meta := `"_meta":{"` + metaServerInfo + `":` + string(info) + `}}`
	return modernResults{
		serverInfo: info, listSuffix: []byte(`,"resultType":"complete",` + cacheMembers + `,` + meta), resultSuffix: []byte(`,"resultType":"complete",` + meta),
	}
}

// complete adds the members that are required in modern results: resultType, the cache
// fields for the methods that have them, and serverInfo in _meta. Existing members stay unchanged,
// byte for byte.
func (m *modernResults) complete(method string, result []byte) splitResult {
	var kind, ttl, scope, meta core.Span
	err := wire.Members(result, func(m wire.Member) error {
		switch string(m.Name) {
		case "resultType":
			kind = m.Value
		case "ttlMs":
			ttl = m.Value
		case "cacheScope":
			scope = m.Value
		case "_meta":
			meta = m.Value
		}
		return nil
	})
	if err != nil {
		return splitResult{head: result} // not an object, or with duplicate keys: nothing can be added safely
	}
	end := len(result)
	for result[end-1] != '}' {
		end--
	}
	if kind.Empty() && meta.Empty() && method != "resources/read" && !isEmptyObject(result[:end]) {
		return splitResult{result[:end-1], m.resultSuffix} // the common case for a legacy server
	}
	tail := make([]byte, 0, 192)
	if kind.Empty() {
		tail = append(tail, `,"resultType":"complete"`...)
	}
	// An input_required result must not be cached.
	if method == "resources/read" && string(wire.Bytes(result, kind)) != `"input_required"` {
		if ttl.Empty() {
			tail = append(tail, `,"ttlMs":0`...)
		}
		if scope.Empty() {
			tail = append(tail, `,"cacheScope":"private"`...)
		}
	}
	edits := make([]wire.Edit, 0, 2)
	switch raw := wire.Bytes(result, meta); {
	case len(raw) == 0:
		tail = append(tail, `,"_meta":{"`+metaServerInfo+`":`...)
		tail = append(append(tail, m.serverInfo...), '}')
	case raw[0] == '{':
		if with := m.missingServerInfo(raw); with != nil {
			edits = append(edits, wire.Edit{Span: core.Span{Start: meta.End - 1, End: meta.End - 1}, With: with})
		}
	}
	if len(tail) > 0 {
		if isEmptyObject(result[:end]) {
			tail = tail[1:]
		}
		edits = append(edits, wire.Edit{Span: core.Span{Start: end - 1, End: end - 1}, With: tail})
	}
	if len(edits) == 0 {
		return splitResult{head: result}
	}
	return splitResult{head: wire.Splice(make([]byte, 0, len(result)+len(tail)+len(m.serverInfo)+64), result, edits...)}
}

// missingServerInfo returns the text to insert at the end of a _meta object to add serverInfo, or
// nil if it is present.
func (m *modernResults) missingServerInfo(meta []byte) []byte {
	there, some := false, false
	err := wire.Members(meta, func(m wire.Member) error {
		some = true
		there = there || string(m.Name) == metaServerInfo
		return nil
	})
	if err != nil || there {
		return nil
	}
	with := make([]byte, 0, len(m.serverInfo)+64)
	if some {
		with = append(with, ',')
	}
	with = append(with, `"`+metaServerInfo+`":`...)
	return append(with, m.serverInfo...)
}

// isEmptyObject reports whether a valid object has no members.
func isEmptyObject(obj []byte) bool {
	for _, c := range obj {
		switch c {
		case '{', '}', ' ', '\t', '\r', '\n':
		default:
			return false
		}
	}
	return true
}

// The error codes of our own errors.
const (
	codeParse            = wire.CodeParse
	codeInvalidRequest   = wire.CodeInvalidRequest
	codeMethodNotFound   = wire.CodeMethodNotFound
	codeInvalidParams    = wire.CodeInvalidParams
	codeInternal         = wire.CodeInternal
	codeRefused          = wire.CodeRefused
	codeNotFound         = -32001 // no such endpoint or session
	codeResourceNotFound = -32002 // of the legacy era; the modern one says codeInvalidParams
	codeHeaderMismatch   = -32020
	codeNeedsCapability  = -32021
	codeBadVersion       = -32022
)

type rpcError struct {
	code   int
	object []byte // the raw error object
	http   int    // the HTTP status; 0: that of the code
}

func newError(code int, message string) *rpcError {
	return &rpcError{code: code, object: wire.ErrorObject(code, message, nil)}
}

func newRefusal(status, code int, message string) *rpcError {
	return &rpcError{code: code, object: wire.ErrorObject(code, message, nil), http: status}
}

// upstreamError forwards an error object of a server. Only the code of a missing resource differs
// between the eras. What is no JSON-RPC error, such as a text, is the data of one: a client may otherwise
// ignore the response and wait for its timeout.
func upstreamError(object []byte, era core.Era) *rpcError {
	rpcErr := &rpcError{object: object}
	found, err := wire.Pick(object, "code", "message")
	at, message := found[0], wire.Bytes(object, found[1])
	code, ok := wire.Int(object, at)
	if err != nil || !ok || len(message) == 0 || message[0] != '"' {
		return &rpcError{code: codeInternal, object: wire.ErrorObject(codeInternal, "the server sent an error that is not a JSON-RPC error; it is in data", object)}
	}
	rpcErr.code = int(code)
	if era == core.Modern && rpcErr.code == codeResourceNotFound {
		rpcErr.code = codeInvalidParams
		rpcErr.object = wire.Splice(nil, object, wire.Edit{Span: at, With: strconv.AppendInt(nil, codeInvalidParams, 10)})
	}
	return rpcErr
}

// localError converts an error of the call path. Errors that the model can act on become a tool
// result that says why the tool was not run and what to do. Protocol errors, and errors of other
// methods, become JSON-RPC errors. name is the name that the client requested.
func localError(method, server, name string, era core.Era, err error) (result []byte, rpcErr *rpcError) {
	details := detailsOf(err)
	rpc := codeRefused
	switch details.Code {
	case core.CodeValidation:
		rpc = codeInvalidParams
	case core.CodeNotFound:
		rpc = codeInvalidParams
		if method == "resources/read" {
			details.URI = name
			if era == core.Legacy {
				rpc = codeResourceNotFound
			}
		}
	case core.CodeInternal:
		rpc = codeInternal
	}
	if method == "tools/call" && actionableByModel(details) {
		return toolErrorResult(details, server), nil
	}
	message := details.Message
	details.Message = "" // the error has it already
	data, _ := json.Marshal(details)
	return nil, &rpcError{code: rpc, object: wire.ErrorObject(rpc, message, data)}
}

// errorDetails is the machine-readable part of an error.
type errorDetails struct {
	Code      core.Code         `json:"code"`
	Message   string            `json:"message,omitempty"`
	Hint      string            `json:"hint,omitempty"`
	Retriable bool              `json:"retriable,omitempty"`
	URI       string            `json:"uri,omitempty"`
	Errors    []core.FieldError `json:"errors,omitempty"`
	Setting   string            `json:"setting,omitempty"`
}

func detailsOf(err error) errorDetails {
	d := errorDetails{Code: core.CodeOf(err)}
	d.Message, d.Hint = core.Describe(err)
	if e, ok := errors.AsType[*core.Error](err); ok {
		d.Retriable, d.Errors, d.Setting = e.Retriable, e.Fields, e.Setting
	}
	return d
}

// actionableByModel reports whether a model can act on an error. Unknown tools and malformed
// requests are protocol errors; invalid arguments are not.
func actionableByModel(d errorDetails) bool {
	switch d.Code {
	case core.CodeNotFound, core.CodeCancelled:
		return false
	case core.CodeValidation:
		return len(d.Errors) > 0
	}
	return true
}

// toolErrorResult returns a tool result with isError. The details are in the text and in _meta,
// not in structuredContent, which must match the outputSchema of the tool.
func toolErrorResult(d errorDetails, server string) []byte {
	reason := d.Message
	if d.Hint != "" {
		reason += ". " + d.Hint
	}
	out := append([]byte(nil), `{"content":[`...)
	text := func(s string) {
		out = append(out, `{"type":"text","text":`...)
		out = append(wire.AppendString(out, s), '}')
	}
	suffix := " (code=" + string(d.Code)
	if d.Retriable {
		suffix += " retriable=true"
	}
	suffix += ")"
	if (d.Code == core.CodeUnavailable || d.Code == core.CodeBreakerOpen) && d.Retriable && server != "" {
		text(server + " is temporarily unavailable. Please try again later." + suffix)
		out = append(out, ',')
		text(reason)
		out = append(out, `],"isError":true,"_meta":{"status":"degraded",`...)
	} else {
		text(reason + suffix)
		out = append(out, `],"isError":true,"_meta":{`...)
		if d.Code == core.CodeDegraded {
			out = append(out, `"status":"degraded",`...)
		}
	}
	details, _ := json.Marshal(d)
	out = append(append(out, `"`+metaError+`":`...), details...)
	return append(out, `}}`...)
}

// metaError is the _meta key of the errorDetails.
const metaError = "drawbridge/error"

// status returns the HTTP status for a response that consists of this error.
func (rpcErr *rpcError) status(era core.Era) int {
	if rpcErr.http != 0 {
		return rpcErr.http
	}
	if era == core.Modern {
		switch rpcErr.code {
		case codeMethodNotFound:
			return http.StatusNotFound
		case codeInvalidParams, codeBadVersion, codeNeedsCapability, codeHeaderMismatch:
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}

// refuse responds to an HTTP request whose body was not parsed.
func refuse(w http.ResponseWriter, status, code int, message string) {
	writeError(w, status, nil, code, message)
}

// refuseMessage responds to a body that is not a valid message.
func refuseMessage(w http.ResponseWriter, body []byte, err error) {
	code, reason := codeParse, "cannot parse the message"
	if e, ok := errors.AsType[*wire.Error](err); ok {
		code, reason = e.Code, "invalid message: "+e.Reason
	}
	var id []byte // of no message that is not JSON
	if code != codeParse {
		id = wire.RequestID(body, nil)
	}
	writeError(w, http.StatusBadRequest, id, code, reason)
}

func writeError(w http.ResponseWriter, status int, id []byte, code int, message string) {
	writeErrorObject(w, status, id, wire.ErrorObject(code, message, nil))
}

func writeErrorObject(w http.ResponseWriter, status int, id, object []byte) {
	w.Header()["Content-Type"] = jsonType
	w.Header()["Cache-Control"] = noStore
	w.WriteHeader(status)
	_, _ = w.Write(wire.AppendErrorObject(nil, id, object))
}

// write responds to the HTTP request of a message with the error.
func (rpcErr *rpcError) write(w http.ResponseWriter, x *exchange) {
	writeErrorObject(w, rpcErr.status(x.era), x.id(), rpcErr.object)
}

var (
	errResponseEnded = errors.New("the response was already sent")
	keepAliveComment = []byte(": \n\n")
)

// responseWriter writes the messages of one HTTP response. Nothing is written until the form of the
// response is known: reply writes a JSON document, unless sendEvent or a keep-alive comment has
// begun an event stream.
type responseWriter struct {
	keepAliveInterval time.Duration // interval of keep-alive comments on a silent stream
	writeTimeout      time.Duration // deadline of one write
	controller        http.ResponseController
	lastWrite         atomic.Int64 // time of the last write, or of creation, since epoch

	mu        sync.Mutex
	w         http.ResponseWriter
	streaming bool  // the headers of a stream have been written
	ended     bool  // the response is complete, or the HTTP handler returns
	writeErr  error // the first failed write
}

func (b *Bridge) newResponseWriter(w http.ResponseWriter) *responseWriter {
	rw := &responseWriter{w: w, controller: *http.NewResponseController(w), keepAliveInterval: b.KeepAlive, writeTimeout: b.WriteLimit}
	rw.lastWrite.Store(int64(time.Since(epoch)))
	return rw
}

var epoch = time.Now()

// setHeader sets a header of the response, unless the stream has begun.
func (rw *responseWriter) setHeader(key, value string) {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	if !rw.streaming && !rw.ended {
		rw.w.Header().Set(key, value)
	}
}

// sinceLastWrite returns the time since the last write.
func (rw *responseWriter) sinceLastWrite() time.Duration {
	return time.Since(epoch) - time.Duration(rw.lastWrite.Load())
}

func (rw *responseWriter) sendKeepAlive() {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	if rw.ended || rw.writeErr != nil {
		return
	}
	rw.beginStream()
	rw.write(keepAliveComment)
	rw.flush()
}

// sendEvent sends one message, the concatenation of parts, as an SSE event. Events are sent in
// the order of the calls. The message must not be empty.
func (rw *responseWriter) sendEvent(parts ...[]byte) error {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	if rw.ended {
		return errResponseEnded
	}
	rw.beginStream()
	rw.writeEvent(parts)
	rw.flush()
	return rw.writeErr
}

// reply sends the last message and calls end. The message is a JSON document with the given
// status if nothing was sent before, else an SSE event.
func (rw *responseWriter) reply(status int, parts ...[]byte) {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	if rw.ended {
		return
	}
	if rw.streaming {
		rw.writeEvent(parts)
	} else {
		size := 0
		for _, p := range parts {
			size += len(p)
		}
		h := rw.w.Header()
		h["Content-Type"] = jsonType
		h["Cache-Control"] = noStore
		if size > autoContentLength {
			h["Content-Length"] = []string{strconv.Itoa(size)}
		}
		rw.w.WriteHeader(status)
		rw.write(parts...)
	}
	rw.ended = true
}

// autoContentLength is the size up to which net/http sets Content-Length.
const autoContentLength = 2 << 10

var (
	jsonType   = []string{"application/json"}
	noStore    = []string{"no-store"}
	streamType = []string{"text/event-stream"}
)

// end makes all later writes do nothing. It must be called before the HTTP handler returns.
func (rw *responseWriter) end() {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	rw.ended = true
}

func (rw *responseWriter) beginStream() {
	if rw.streaming {
		return
	}
	rw.streaming = true
	h := rw.w.Header()
	h["Content-Type"] = streamType
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	rw.w.WriteHeader(http.StatusOK)
}

var (
	eventPrefix = []byte("event: message\ndata: ")
	eventSuffix = []byte("\n\n")
)

func (rw *responseWriter) writeEvent(parts [][]byte) {
	rw.write(eventPrefix)
	for _, p := range parts {
		rw.write(removeLineBreaks(p))
	}
	rw.write(eventSuffix)
}

func (rw *responseWriter) write(parts ...[]byte) {
	now := time.Now()
	if rw.writeErr == nil {
		_ = rw.controller.SetWriteDeadline(now.Add(rw.writeTimeout))
	}
	rw.lastWrite.Store(int64(now.Sub(epoch)))
	for _, p := range parts {
		if rw.writeErr != nil {
			return
		}
		_, rw.writeErr = rw.w.Write(p)
	}
}

func (rw *responseWriter) flush() {
	if rw.writeErr == nil {
		rw.writeErr = rw.controller.Flush()
	}
}

// removeLineBreaks removes the line breaks between the tokens of valid JSON. Strings cannot contain
// raw line breaks.
func removeLineBreaks(p []byte) []byte {
	if bytes.IndexByte(p, '\n') < 0 && bytes.IndexByte(p, '\r') < 0 {
		return p
	}
	out := bytes.Clone(p)
	for i, c := range out {
		if c == '\n' || c == '\r' {
			out[i] = ' '
		}
	}
	return out
}
