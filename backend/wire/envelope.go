package wire

import (
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
