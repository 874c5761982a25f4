package bridge

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
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
		if !strings.Contains(string(all), "too many large results are still unread") || !strings.Contains(string(all), `"isError":true`) {
			t.Errorf("the dropped result is %.300s", all)
		}
		return true
	}
	first, second := call("idle"), call("idle")
	if leftOut(first) || leftOut(second) {
		t.Fatal("there was room")
	}
	if !leftOut(call("idle")) {
		t.Error("one client takes more than its part")
	}
	other := call("other")
	if leftOut(other) {
		t.Fatal("a client that does not read leaves nothing for others")
	}
	if !leftOut(call("third")) {
		t.Error("all together take more than there is")
	}
	if n, _ := io.Copy(io.Discard, other.Body); n < size {
		t.Errorf("%d bytes of the result came", n)
	}
	_, _ = first.Body.Close(), second.Body.Close()
	eventually.True(t, "there is room again", func() bool {
		s.bridge.calls.resultBudget.mu.Lock()
		defer s.bridge.calls.resultBudget.mu.Unlock()
		return s.bridge.calls.resultBudget.held == 0 && len(s.bridge.calls.resultBudget.heldBy) == 0
	})
	if leftOut(call("idle")) {
		t.Error("the room was not given back")
	}
}
