package wire

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// The official SDKs read what servers send less strictly than the specification. A server that works
// with them must work here, too.

// replyID returns the id of a response as the number that our request had. 2.0 and 2e0 are the same
// JSON number as 2; "2" is wrong, but some servers convert ids to strings.
func replyID(raw []byte) (id int64, quoted, ok bool) {
	if id, ok := Int(raw, core.Span{End: len(raw)}); ok {
		return id, false, true
	}
	if len(raw) == 0 || len(raw) > maxShownID {
		return 0, false, false
	}
	text, quoted := Unquote(raw)
	if !quoted {
		text = string(raw)
	}
	if strings.Trim(text, "0123456789.eE+-") != "" { // ParseFloat knows more notations
		return 0, false, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return int64(n), quoted, err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53
}

func (s *serverMessages) countQuotedID(quoted bool) {
	if quoted {
		s.stats.quotedIDs.Add(1)
	}
}

// replySpans returns where a response has its result or its error, which wins over a result. Both
// are empty if it has neither.
func replySpans(data []byte, env Envelope) (result, object core.Span) {
	if string(Bytes(data, env.Error)) == "null" {
		return env.Result, object
	}
	if !env.Error.Empty() {
		return result, env.Error
	}
	return env.Result, object
}

// maxBatch limits the messages of one batch.
const maxBatch = 1000

// BatchMessages returns the messages of a JSON-RPC batch, which revisions before 2025-06-18 allow. ok is
// false if data is anything but an array of objects, or too long.
func BatchMessages(data []byte) (messages [][]byte, ok bool) {
	err := Elements(data, func(at core.Span) error {
		if data[at.Start] != '{' || len(messages) == maxBatch {
			return errNotBatch
		}
		messages = append(messages, Bytes(data, at))
		return nil
	})
	if err != nil || len(messages) == 0 {
		return nil, false
	}
	return messages, true
}

var errNotBatch = errors.New("not a batch of messages")
