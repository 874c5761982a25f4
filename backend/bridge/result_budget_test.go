package bridge

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A client that does not read leaves budget for the others, and a result beyond the budget is
// replaced by an error.
func TestUnreadResultsStayWithinBudget(t *testing.T) {
	t.Parallel()
	const size = 12 << 20 // far more than the socket buffers hold
	result := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}`)
	s := newFixture(t, func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		return core.Reply{Result: result}, nil
	}, func(o *Options) { o.ResultBudget = 3*size + 4<<10 })
	call := func(token string) *http.Response {
		return s.modern("/mcp", "tools/call", "files__read", `"name":"files__read","arguments":{}`, ClientHeader, token)
	}
	leftOut := func(resp *http.Response) bool {
		if resp.ContentLength > size {
			return false
		}
		all, _ := io.ReadAll(resp.Body)
		assert.Contains(t, string(all), "too many large results are still unread", "the dropped result")
		assert.Contains(t, string(all), `"isError":true`, "the dropped result")
		return true
	}
	first, second := call("idle"), call("idle")
	require.True(t, !leftOut(first) && !leftOut(second), "there was room")
	assert.True(t, leftOut(call("idle")), "one client takes more than its part")
	other := call("other")
	require.False(t, leftOut(other), "a client that does not read leaves nothing for others")
	assert.True(t, leftOut(call("third")), "all together take more than there is")
	n, _ := io.Copy(io.Discard, other.Body)
	assert.Truef(t, n >= size, "%d bytes of the result came", n)
	_, _ = first.Body.Close(), second.Body.Close()
	eventually.True(t, "there is room again", func() bool {
		s.bridge.calls.resultBudget.mu.Lock()
		defer s.bridge.calls.resultBudget.mu.Unlock()
		return s.bridge.calls.resultBudget.held == 0 && len(s.bridge.calls.resultBudget.heldBy) == 0
	})
	assert.False(t, leftOut(call("idle")), "the room was not given back")
}
