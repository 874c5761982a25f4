package gateway

import (
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// parseProgress returns the progress value of a progress notification, or 0.
func parseProgress(params []byte) (n float64) {
	_ = wire.Members(params, func(m wire.Member) error {
		if string(m.Name) == "progress" {
			n, _ = strconv.ParseFloat(string(wire.Bytes(params, m.Value)), 64)
		}
		return nil
	})
	return n
}
