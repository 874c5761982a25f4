package bridge

import (
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// sdkPreservesID reports whether go-sdk responds with an id byte for byte. It decodes numbers as
// float64, which rounds integers beyond 2^53 and changes the notation of others.
func sdkPreservesID(id []byte) bool {
	if len(id) == 0 || id[0] == '"' {
		return true
	}
	if len(id) > 15 || len(id) > 1 && id[0] == '0' {
		return false
	}
	for _, c := range id {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// substituteID replaces an id that go-sdk would change with a unique string. sdkWriter restores the
// id of the client.
func (x *exchange) substituteID(ticket string) (body, id []byte) {
	id = wire.AppendString(nil, ticket)
	return wire.Splice(nil, x.body, wire.Edit{Span: x.env.ID, With: id}), id
}
