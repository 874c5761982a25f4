package gateway

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The recorder gets the first notifications with their times, without the client's token.
func TestProgressIsKeptForTheRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		long := []byte(`{"message":"` + strings.Repeat("x", core.MaxProgressBytes) + `"}`)
		f.send = func(_ context.Context, _ *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
			params := []byte(`{"progressToken":"t","progress":1.0, "total":2}`)
			sink.Notify("notifications/progress", params)
			copy(params, bytes.Repeat([]byte("!"), len(params))) // the buffer is reused
			sink.Notify("notifications/message", []byte(`{}`))
			sink.Notify("notifications/progress", long)
			for range 2 * core.MaxProgressLog {
				<-time.After(time.Second)
				sink.Notify("notifications/progress", []byte(`{"progress":2}`))
			}
			return core.Reply{Result: []byte(`{"content":[]}`)}, nil
		}
		call := toolCall()
		_, err := f.Call(context.Background(), call, nil)
		require.NoError(t, err)
		got := call.ProgressLog
		if len(got) != core.MaxProgressLog || got[0].AfterMs != 0 || string(got[0].Params) != `{"progress":1.0,"total":2}` ||
			got[99].AfterMs != 99_000 || string(got[99].Params) != `{"progress":2}` || call.Progress != 2*core.MaxProgressLog+2 {
			t.Errorf("%d of %d are kept: %+v", len(got), call.Progress, got)
		}
	})
}

// Observers receive progress a few times a second at most, and none after the call has ended.
func TestObserversReceiveProgressOfRunningCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		sub := f.bus.Subscribe(10_000, core.CallEvent)
		defer sub.Close()
		f.send = func(_ context.Context, _ *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
			for range 1000 {
				<-time.After(time.Millisecond)
				sink.Notify("notifications/progress", nil)
			}
			go func() { // late, and long enough after the last one to be published
				<-time.After(2 * progressInterval)
				sink.Notify("notifications/progress", nil)
			}()
			return core.Reply{Result: []byte(`{"content":[]}`)}, nil
		}
		call := toolCall()
		_, err := f.Call(context.Background(), call, nil)
		require.NoError(t, err)
		<-time.After(3 * progressInterval)
		synctest.Wait()
		sub.Close()
		var told []core.Call
		for e := range sub.Events() {
			told = append(told, e.Data.(core.Call))
		}
		require.Truef(t, len(told) >= 4 && len(told) <= 7, "%d events", len(told))
		for i, c := range told {
			last := i == len(told)-1
			assert.Equalf(t, c.Outcome != core.OutcomeRunning, last, "event %d of %d", i, len(told))
			assert.Truef(t, !(i > 0 && c.Progress <= told[i-1].Progress) && c.ID == call.ID && c.Name == "read", "event %d: %+v", i, c)
		}
	})
}
