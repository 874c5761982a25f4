package bridge

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Durations must not depend on steps of the wall clock, and At has no monotonic reading.
func TestCallDurationsUseMonotonicClock(t *testing.T) {
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		s := newFixture(t, nil)
		if era == core.Modern {
			onlyMessage(t, s.modern("/mcp", "tools/call", "files__read", `"name":"files__read","arguments":{}`))
		} else {
			onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__read","arguments":{}}}`, s.openSession("/mcp", `{}`)...))
		}
		if c := s.gateway.last(); !strings.Contains(c.Began.String(), " m=") || !c.Began.Equal(c.At) {
			t.Errorf("%s: the call began at %s and came at %s", era, c.Began, c.At)
		}
	}
}
