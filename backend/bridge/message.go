package bridge

import (
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// message is the body of a POST request, with the result of scanning it.
type message struct {
	body   []byte
	env    wire.Envelope
	params wire.Params // spans of rawParams
	// repaired reports that the body contained invalid Unicode, which was replaced.
	repaired bool
}

func (m *message) id() []byte { return wire.Bytes(m.body, m.env.ID) }

func (m *message) rawParams() []byte { return wire.Bytes(m.body, m.env.Params) }

// parseMessage scans a body. The error is a *wire.Error. If only the params are invalid, parse
// returns the message as well, so that the error response can have its id.
func parseMessage(body []byte) (*message, error) {
	m := &message{body: body}
	var err error
	if m.env, err = wire.Scan(body); err != nil {
		return nil, err
	}
	if m.env.Dirty() {
		// Messages to stdio servers are delimited by newlines, so none may occur between tokens.
		m.repaired = m.env.InvalidUnicode
		m.body = wire.Compact(make([]byte, 0, len(body)), body)
		if m.env, err = wire.Scan(m.body); err != nil {
			return nil, err
		}
	}
	if raw := m.rawParams(); len(raw) > 0 && raw[0] == '{' {
		if m.params, err = wire.ScanParams(raw); err != nil {
			return m, err
		}
	}
	return m, nil
}
