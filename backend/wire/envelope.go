package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Kind is the kind of a message.
type Kind uint8

const (
	Other        Kind = iota // JSON, but not a JSON-RPC message
	Request                  // method and id
	Notification             // method without id
	Response                 // id with result or error
	Batch                    // an array; its elements are validated as JSON only
)

// Envelope holds the members of a JSON-RPC message except their content. Its spans are ranges of
// the scanned message; values are raw, strings include their quotes.
type Envelope struct {
	Kind       Kind
	HasVersion bool      // whether it contains "jsonrpc":"2.0"
	ID         core.Span // a string, a number, or null (in a response only)
	Method     string    // decoded; "" unless Kind is Request or Notification
	Params     core.Span
	Result     core.Span
	Error      core.Span
	// Newlines: CR or LF occurs between tokens, which must not enter SSE or
	// newline-delimited JSON. Broken: a string is not valid Unicode. Both are
	// repaired by Compact.
	Newlines, InvalidUnicode bool
}

// Dirty reports whether the message must pass Compact before it is forwarded.
func (e *Envelope) Dirty() bool { return e.Newlines || e.InvalidUnicode }

// Scan validates msg as one JSON text and finds the parts of its envelope in the
// same pass. White space around it is allowed. It refuses what two parsers could
// read differently: a duplicate member, a name that differs from a member of the envelope only
// by case folding, a key with U+0000, a method together with a result. It allocates only for an
// unknown method name. The error is an *Error.
func Scan(msg []byte) (Envelope, error) {
	env, n, err := ScanPrefix(msg)
	if err != nil {
		return env, err
	}
	s := scanner{b: msg}
	if n = s.space(n); n < len(msg) {
		_, err = s.parseError(n, "more than one value")
	}
	return env, err
}

// ScanPrefix is Scan for the first of several messages in src; n is its length in bytes.
func ScanPrefix(src []byte) (env Envelope, n int, err error) {
	s := scanner{b: src}
	i := s.space(0)
	s.newline = false // before the message, not in it
	if i >= len(src) || src[i] != '{' {
		if n, err = s.value(i, 0); err == nil && src[i] == '[' {
			env.Kind = Batch
		}
		env.Newlines, env.InvalidUnicode = s.newline, s.invalidUnicode
		return env, n, err
	}
	n, err = s.envelope(i, &env)
	env.Newlines, env.InvalidUnicode = s.newline, s.invalidUnicode
	return env, n, err
}

var envelopeNames = [...]string{"jsonrpc", "id", "method", "params", "result", "error"}

func (s *scanner) envelope(i int, env *Envelope) (int, error) {
	var keys keySet
	var method core.Span
	start := i
	i = s.space(i + 1)
	for done := i < len(s.b) && s.b[i] == '}'; !done; {
		key, from, err := s.key(i)
		if err != nil {
			return from, err
		}
		name := s.b[key.Start+1 : key.End-1]
		if err := keys.add(s, key); err != nil {
			return i, err
		}
		if i, err = s.value(from, 1); err != nil {
			return i, err
		}
		value := core.Span{Start: from, End: i}
		switch string(name) {
		case "jsonrpc":
			env.HasVersion = string(s.b[from:i]) == `"2.0"`
		case "id":
			env.ID = value
		case "method":
			method = value
		case "params":
			env.Params = value
		case "result":
			env.Result = value
		case "error":
			env.Error = value
		default:
			if foldsToAny(name, envelopeNames[:]) {
				return i, s.invalidRequest(key.Start, "a key that matches an envelope key except for its case")
			}
		}
		if i, done, err = s.memberEnd(i); err != nil {
			return i, err
		}
		if done {
			return i, s.classify(start, method, env)
		}
	}
	return i + 1, nil
}

// classify sets the kind once all members are known.
func (s *scanner) classify(start int, method core.Span, env *Envelope) error {
	if !env.ID.Empty() {
		switch c := s.b[env.ID.Start]; {
		case c == '"', c == '-', '0' <= c && c <= '9':
		case c == 'n' && method.Empty():
		default:
			return s.invalidRequest(env.ID.Start, "an id that is neither string nor number")
		}
	}
	answered := !env.Result.Empty() || !env.Error.Empty()
	if method.Empty() {
		// A JSON log line may have an id or an error, too.
		object := !env.Error.Empty() && s.b[env.Error.Start] == '{'
		if env.HasVersion && (answered || !env.ID.Empty()) || !env.Result.Empty() || object {
			env.Kind = Response
		}
		return nil
	}
	if answered {
		return s.invalidRequest(start, "both a method and a result")
	}
	if s.b[method.Start] != '"' {
		return s.invalidRequest(method.Start, "a method that is not a string")
	}
	if !env.Params.Empty() {
		if c := s.b[env.Params.Start]; c != '{' && c != '[' && c != 'n' {
			return s.invalidRequest(env.Params.Start, "params that are neither object nor array")
		}
	}
	env.Method = methodName(s.b[method.Start:method.End])
	env.Kind = Notification
	if !env.ID.Empty() {
		env.Kind = Request
	}
	return nil
}

// methodName decodes a method. Known names cost no allocation.
func methodName(raw []byte) string {
	if name, ok := methods[string(raw[1:len(raw)-1])]; ok {
		return name
	}
	name, _ := Unquote(raw)
	return name
}

var methods = func() map[string]string {
	all := map[string]string{}
	for _, name := range []string{
		"initialize", "ping", "server/discover", "subscriptions/listen",
		"tools/list", "tools/call", "prompts/list", "prompts/get",
		"resources/list", "resources/templates/list", "resources/read",
		"resources/subscribe", "resources/unsubscribe",
		"completion/complete", "logging/setLevel",
		"tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result",
		"sampling/createMessage", "elicitation/create", "roots/list",
		"notifications/initialized", "notifications/cancelled",
		"notifications/progress", "notifications/message",
		"notifications/tools/list_changed", "notifications/prompts/list_changed",
		"notifications/resources/list_changed", "notifications/resources/updated",
		"notifications/roots/list_changed", "notifications/elicitation/complete",
		"notifications/subscriptions/acknowledged",
	} {
		all[name] = name
	}
	return all
}()

// Edit replaces the bytes of Span by With. A span whose Start equals its End inserts.
type Edit struct {
	Span core.Span
	With []byte
}

// Splice appends src to dst with the edits done and returns the extended slice.
// Edits must be in order, must not overlap and must lie inside src; anything else
// is a programming error and panics. Bytes outside of the edits are unchanged.
func Splice(dst, src []byte, edits ...Edit) []byte {
	at := 0
	for _, e := range edits {
		if e.Span.Start < at || e.Span.End < e.Span.Start {
			panic("wire: edits overlap or are out of order")
		}
		dst = append(dst, src[at:e.Span.Start]...)
		dst = append(dst, e.With...)
		at = e.Span.End
	}
	return append(dst, src[at:]...)
}

// Unquote decodes a valid string literal including its quotes; ok is false if raw is anything else.
// Invalid UTF-8 and lone surrogates become U+FFFD.
func Unquote(raw []byte) (text string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	inside := raw[1 : len(raw)-1]
	if skipPlain(inside, 0) == len(inside) {
		return string(inside), true
	}
	out := make([]byte, 0, len(inside))
	for i := 0; i < len(inside); {
		r, n := nextRune(inside, i)
		out = utf8.AppendRune(out, r)
		i += n
	}
	return string(out), true
}

// AppendString appends text as a string literal.
func AppendString(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// Decode parses one JSON value for validation against a schema. Integers are exact if they fit
// into 64 bits.
func Decode(raw []byte) (any, error) {
	var v any
	if err := core.DecodeJSON(raw, &v); err != nil {
		return nil, err
	}
	return exactNumbers(v), nil
}

// exactNumbers converts numbers to int64 if they are integers that fit, otherwise to float64.
func exactNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, part := range v {
			v[key] = exactNumbers(part)
		}
	case []any:
		for i, part := range v {
			v[i] = exactNumbers(part)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		f = min(max(f, -math.MaxFloat64), math.MaxFloat64) // larger values lose their exact size
		if f >= -1<<53 && f <= 1<<53 && f == math.Trunc(f) {
			return int64(f)
		}
		return f
	}
	return v
}

// AppendNotification appends a notification. params is raw and may be empty.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendMethod(append(dst, `{"jsonrpc":"2.0",`...), method, params)
}

func appendMethod(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `"method":`...)
	dst = AppendString(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendResult appends a response with a result. id and result are raw.
func AppendResult(dst, id, result []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"result":`...)
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendError appends a response with an error. id and data are raw; empty ones are omitted.
func AppendError(dst, id []byte, code int, message string, data []byte) []byte {
	return AppendErrorObject(dst, id, ErrorObject(code, message, data))
}

// AppendErrorObject appends a response whose error object is given raw. If the id of the request is
// unknown (empty or null), the response has no id: MCP does not allow null, unlike JSON-RPC.
func AppendErrorObject(dst, id, object []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if len(id) > 0 && string(id) != "null" {
		dst = append(append(append(dst, `"id":`...), id...), ',')
	}
	dst = append(dst, `"error":`...)
	dst = append(dst, object...)
	return append(dst, '}')
}

// ErrorObject makes a JSON-RPC error object. data is raw and may be empty.
func ErrorObject(code int, message string, data []byte) []byte {
	dst := append([]byte(nil), `{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, message)
	if len(data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, data...)
	}
	return append(dst, '}')
}
