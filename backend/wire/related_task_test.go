package wire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
)

// A message that names a task reaches the call that waits for the result of the task. It reaches no other
// call, not even the only one in flight, which may be that of another client.
func TestMessagesOfATaskReachOnlyItsCall(t *testing.T) {
	t.Parallel()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	m := wire.NewMux(wire.MuxOptions{Server: "test", In: outR, Out: inW,
		OnRequest: func(_ context.Context, _ string, params json.RawMessage) (core.Reply, error) {
			return core.Reply{Result: []byte(`{"by":"nobody"}`)}, nil
		}})
	ended := make(chan struct{})
	go func() { defer close(ended); _ = m.Run() }()
	t.Cleanup(func() { m.Close(io.EOF); inR.Close(); outW.Close(); <-ended })
	sent := bufio.NewScanner(inR)
	next := func() string {
		if !sent.Scan() {
			t.Fatal(sent.Err())
		}
		return sent.Text()
	}
	calls := make(chan error, 3)
	sinks := map[string]*recorder{}
	start := func(name, method, params string) {
		sinks[name] = &recorder{ask: func(context.Context, string, json.RawMessage) (core.Reply, error) {
			return core.Reply{Result: []byte(`{"by":"` + name + `"}`)}, nil
		}}
		go func() {
			_, err := m.Call(context.Background(), method, []byte(params), core.Span{}, sinks[name])
			calls <- err
		}()
		next()
	}
	ask := func(related, want string) {
		t.Helper()
		params := `{"level":"info","data":"for ` + want + `","_meta":{` + related + `}}`
		fmt.Fprintf(outW, `{"jsonrpc":"2.0","method":"notifications/message","params":%s}`+"\n", params)
		fmt.Fprintf(outW, `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":%s}`+"\n", params)
		assert.Contains(t, next(), `"by":"`+want+`"`, related)
	}
	of := func(task string) string { return `"io.modelcontextprotocol/related-task":{"taskId":"` + task + `"}` }
	start("plain", "tools/call", `{}`)
	ask(`"x":1`, "plain")
	for _, related := range []string{of("b"), `"io.modelcontextprotocol/related\u002dtask":{"task\u0049d":"b"}`, `"io.modelcontextprotocol/related-task":["b"]`} {
		ask(related, "nobody")
	}
	start("a", "tasks/result", `{"taskId":"a"}`)
	start("b", "tasks/result", `{"taskId":"b"}`)
	ask(of("a"), "a")
	ask(of("b"), "b")
	ask(of("c"), "nobody")
	for id := 1; id <= 3; id++ {
		fmt.Fprintf(outW, `{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", id)
		err := <-calls
		assert.NoError(t, err)
	}
	for name, sink := range sinks {
		got := sink.all()
		assert.Truef(t, len(got) == 1 && strings.Contains(got[0], "for "+name), "%s got %s", name, got)
	}
}
