package gateway

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// maxReason is the maximum length of Call.Reason, in characters.
const maxReason = excerptLength

// classify sets the outcome of a call. Code stays empty for a JSON-RPC error of the server.
func classify(call *core.Call, reply core.Reply, err error, at callStage) {
	switch {
	case err != nil:
		call.Code = core.CodeOf(err)
		call.Reason, _ = core.Describe(err)
		call.Outcome = failureOutcome(call.Code, at)
	case len(reply.Error) > 0:
		call.Outcome = core.OutcomeProtocolError
		call.BytesOut = len(reply.Error)
		var e struct{ Message string }
		if json.Unmarshal(reply.Error, &e) == nil {
			call.Reason = shorten(e.Message)
		}
	default:
		call.Outcome = core.OutcomeOK
		call.BytesOut = len(reply.Result)
		if call.Method == "tools/call" && isError(reply.Result) {
			call.Outcome = core.OutcomeToolError
			f := FailureOf(reply.Result)
			call.Reason = shorten(strings.TrimSuffix(f.Text, f.suffix)) + f.suffix
		}
	}
	call.Repaired = call.Repaired || reply.Repaired
	if call.Repaired && call.Outcome == core.OutcomeOK {
		call.Reason = "invalid Unicode was replaced"
	}
}

func failureOutcome(code core.Code, at callStage) core.Outcome {
	switch {
	case code == core.CodeCancelled:
		return core.OutcomeCancelled
	case at == stageAdmitting:
		return core.OutcomeRejected
	case code == core.CodeTimeout:
		return core.OutcomeTimeout
	}
	return core.OutcomeProtocolError
}

// isValidReply reports whether a client can read the reply: it is an error or an object, as every
// MCP result must be. Some servers send null as the empty result of resources/subscribe and
// resources/unsubscribe.
func isValidReply(method string, reply core.Reply) bool {
	if len(reply.Error) > 0 || len(reply.Result) > 0 && reply.Result[0] == '{' {
		return true
	}
	return method == "resources/subscribe" || method == "resources/unsubscribe"
}

var isErrorKey = []byte(`"isError"`)

// isError reports whether the result object has a top-level member isError that is true. It does
// not decode the payload: a result that does not contain "isError" costs one search, others are
// scanned without copying.
func isError(result []byte) bool {
	if !bytes.Contains(result, isErrorKey) {
		return false
	}
	depth, found := 0, false
	for i := 0; i < len(result); i++ {
		switch result[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := stringEnd(result, i)
			if depth == 1 && bytes.Equal(result[i:end], isErrorKey) {
				if rest := bytes.TrimLeft(result[end:], " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
					rest = bytes.TrimLeft(rest[1:], " \t\r\n")
					found = bytes.HasPrefix(rest, []byte("true")) // the last duplicate wins, as in encoding/json
				}
			}
			i = end - 1
		}
	}
	return found
}

// stringEnd returns the index after the closing quote of the string that starts at i.
func stringEnd(b []byte, i int) int {
	for j := i + 1; j < len(b); j++ {
		switch b[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return len(b)
}

// shorten truncates a string to maxReason characters. A string that was truncated before is
// unchanged.
func shorten(s string) string {
	if len(s) <= maxReason {
		return s
	}
	n := 0
	for at := range s {
		if n == maxReason && s[at:] != "…" {
			return s[:at] + "…"
		}
		n++
	}
	return s
}
