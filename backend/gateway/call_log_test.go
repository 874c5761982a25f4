package gateway

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// At debug level each call is logged, without its arguments and result.
func TestDebugLogListsEachCall(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.send = replyWith(`{"content":[{"type":"text","text":"a secret result"}]}`)
	for level, want := range map[slog.Level]int{slog.LevelDebug: 2, slog.LevelInfo: 0} {
		var log bytes.Buffer
		f.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))
		f.admitErr = nil
		call := toolCall()
		call.Client.Name = "Cursor"
		call.Params = json.RawMessage(`{"name":"read","arguments":{"path":"a secret argument"}}`)
		_, _ = f.Call(t.Context(), call, nil)
		f.admitErr = core.Errorf(core.CodeNotFound, "there is no such tool")
		refused := toolCall()
		refused.Name = "a-secret-name"
		_, _ = f.Call(t.Context(), refused, nil)

		said := log.String()
		if strings.Count(said, `msg="Call ended"`) != want || strings.Contains(said, "secret") {
			t.Errorf("at %s:\n%s", level, said)
		}
		if want > 0 && !(strings.Contains(said, "client=Cursor server=files method=tools/call outcome=ok took=") &&
			strings.Contains(said, "name=read") && strings.Contains(said, "outcome=rejected") && strings.Contains(said, "code=not_found")) {
			t.Errorf("at %s:\n%s", level, said)
		}
	}
}
