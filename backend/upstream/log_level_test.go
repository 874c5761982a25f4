package upstream

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// A server that declares logging is asked for all messages. If it does not answer, it starts
// nevertheless.
func TestLogLevelRequestDoesNotDelayStart(t *testing.T) {
	t.Parallel()
	for capabilities, wanted := range map[string]bool{`{"logging":{}}`: true, `{"tools":{}}`: false, `{"logging":null}`: false} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Bool
			server := newPipeServer(func(method string, params json.RawMessage) string {
				switch method {
				case "initialize":
					return `{"protocolVersion":"` + core.LegacyVersion + `","capabilities":` + capabilities + `,"serverInfo":{"name":"s","version":"1"}}`
				case "logging/setLevel":
					asked.Store(string(params) == `{"level":"debug"}`)
					return ""
				}
				return `{}`
			})
			began := time.Now()
			connect(t, Options{Dial: func(context.Context) (Pipe, error) { return server, nil }})
			synctest.Wait()
			if took := time.Since(began); asked.Load() != wanted || took > 0 {
				t.Errorf("%s: asked for a level: %v, after %s", capabilities, asked.Load(), took)
			}
		})
	}
}
