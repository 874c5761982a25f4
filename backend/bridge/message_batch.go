package bridge

import (
	"bytes"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// splitBatch handles the elements of a JSON-RPC batch that the bridge handles itself: responses to
// its requests and cancellations of its calls. Only legacy clients before revision 2025-06-18 may
// send batches. It returns the remaining elements for go-sdk, or nil if there are none. Every
// element is validated like a single message.
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
		m, err := parseMessage(raw)
		if err != nil {
			return nil, err
		}
		switch {
		case m.env.Kind == wire.Response && x.session.deliverResponse(b, m):
		case m.env.Method == "notifications/cancelled" && x.session.cancelCall(wire.Bytes(m.rawParams(), m.params.RequestID)):
		default:
			rest = append(rest, m.body)
		}
	}
	if rest == nil {
		return nil, nil
	}
	return append(append([]byte{'['}, bytes.Join(rest, []byte{','})...), ']'), nil
}
