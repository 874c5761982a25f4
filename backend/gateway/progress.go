package gateway

import (
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// progressOf reads the number of a progress notification; 0 when there is none.
func progressOf(params []byte) (n float64) {
	_ = wire.Members(params, func(m wire.Member) error {
		if string(m.Name) == "progress" {
			n, _ = strconv.ParseFloat(string(wire.Bytes(params, m.Value)), 64)
		}
		return nil
	})
	return n
}
