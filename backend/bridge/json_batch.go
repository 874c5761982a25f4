package bridge

import (
	"bytes"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// splitBatch takes what is ours out of a batch, which the oldest legacy clients may
// send: answers to our requests and cancellations of our calls. It returns what is
// left for go-sdk, nil for nothing. Every element is scanned as a message of its own
// would be, so that nothing passes in a batch that would not pass alone.
func (b *Bridge) splitBatch(x *exchange) ([]byte, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(x.body, &all); err != nil {
		return nil, &wire.Error{Code: codeParse, Reason: "not an array"}
	}
	if len(all) == 0 {
		return nil, &wire.Error{Code: codeInvalidRequest, Reason: "an empty batch"}
	}
	var rest [][]byte
	for _, raw := range all {
		m, err := parse(raw)
		if err != nil {
			return nil, err
		}
		switch {
		case m.env.Kind == wire.Response && x.session.deliverResponse(b, m):
		case m.env.Method == "notifications/cancelled" && x.session.cancelled(wire.Bytes(m.rawParams(), m.params.RequestID)):
		default:
			rest = append(rest, m.body)
		}
	}
	if rest == nil {
		return nil, nil
	}
	return append(append([]byte{'['}, bytes.Join(rest, []byte{','})...), ']'), nil
}
