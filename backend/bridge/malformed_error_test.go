package bridge

import (
	"encoding/json"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// A client that gets no valid JSON-RPC error may wait for its timeout.
func TestMalformedErrorOfServerReachesClientAsJSONRPCError(t *testing.T) {
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		for _, object := range []string{`"text"`, `{"code":"E","message":"m"}`, `{"code":1.5,"message":"m"}`, `{"code":-1}`, `{"message":"m"}`, `{"code":null,"message":"m"}`, `{"code":-1,"message":{"a":1}}`, `[1]`, `true`, `17`} {
			got := upstreamError([]byte(object), era)
			var e struct {
				Code    *int
				Message *string
				Data    json.RawMessage
			}
			if err := json.Unmarshal(got.object, &e); err != nil || e.Code == nil || e.Message == nil || *e.Code != got.code || string(e.Data) != object {
				t.Errorf("%s becomes %s (%v)", object, got.object, err)
			}
		}
		const valid = `{ "code": -32000, "message": "m", "data": [1] }`
		if got := upstreamError([]byte(valid), era); string(got.object) != valid || got.code != -32000 {
			t.Errorf("a valid error becomes %s", got.object)
		}
	}
}
