package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJunkIsSkippedAndJoinedMessagesAreRead(t *testing.T) {
	t.Parallel()
	var junk, notified atomic.Int64
	m := start(t, "junk", func(o *wire.MuxOptions) {
		o.OnJunk = func([]byte, string) { junk.Add(1) }
		o.OnNotification = func(string, json.RawMessage) { notified.Add(1) }
	})
	for range 3 {
		require.Contains(t, string(mustCall(t, m, `{}`, nil).Result), "done")
	}
	if notified.Load() != 3 || junk.Load() < 26 {
		t.Errorf("%d notifications, %d lines of junk", notified.Load(), junk.Load())
	}
}

func TestBannerBeforeFirstResponseIsSkipped(t *testing.T) {
	t.Parallel()
	m := start(t, "banner", nil)
	mustCall(t, m, `{}`, nil)
	assert.EqualValues(t, 8, m.Stats().Junk)
}

func TestOversizedResultFailsOnlyItsCall(t *testing.T) {
	t.Parallel()
	m := start(t, "giant", func(o *wire.MuxOptions) { o.MaxMessage = 1 << 20 })
	for _, arguments := range []string{`{"size":5000000}`, `{"size":5000000,"last":1}`} {
		_, err := call(t, m, `{"arguments":`+arguments+`}`, nil)
		require.ErrorContains(t, err, "the limit is 1048576 bytes", arguments)
		reply := mustCall(t, m, `{"arguments":{"size":900000}}`, nil)
		require.Truef(t, len(reply.Result) >= 900000, "%d bytes", len(reply.Result))
	}
}

func TestEndlessLineEndsConnection(t *testing.T) {
	t.Parallel()
	m := start(t, "endless", func(o *wire.MuxOptions) { o.MaxMessage = 1 << 20 })
	_, err := call(t, m, `{}`, nil)
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
}

func TestDeepNestingFailsOnlyItsOwnCall(t *testing.T) {
	t.Parallel()
	m := start(t, "deep", nil)
	for _, depth := range []int{9_000, 1_000_000} {
		_, err := call(t, m, fmt.Sprintf(`{"arguments":{"depth":%d}}`, depth), nil)
		require.Errorf(t, err, "depth %d passed", depth)
		mustCall(t, m, `{"arguments":{"depth":400}}`, nil)
	}
}

func TestInvalidUTF8IsRepairedAndMarked(t *testing.T) {
	t.Parallel()
	m := start(t, "bad-text", nil)
	reply := mustCall(t, m, `{}`, nil)
	const want = `{"content":[{"type":"text","text":"a` + "\uFFFD" + `b\u0000\ufffd\u001b"}]}`
	if string(reply.Result) != want || m.Stats().Repaired != 1 || !reply.Repaired {
		t.Fatalf("got %s, %d repaired", reply.Result, m.Stats().Repaired)
	}
}

func TestContentLengthFramingBothWays(t *testing.T) {
	t.Parallel()
	m := start(t, "lsp", func(o *wire.MuxOptions) { o.Framing = wire.ContentLength })
	for range 3 {
		require.Contains(t, string(mustCall(t, m, `{"arguments":{"a":"é"}}`, nil).Result), `{"a":"é"}`)
	}
}

func TestResponseWithoutResultOrErrorFailsCall(t *testing.T) {
	t.Parallel()
	_, err := call(t, start(t, "neither", nil), `{}`, nil)
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
}

// warningCollector is a slog.Handler that collects warnings.
type warningCollector chan slog.Record

func (c warningCollector) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (c warningCollector) WithAttrs([]slog.Attr) slog.Handler           { return c }
func (c warningCollector) WithGroup(string) slog.Handler                { return c }

func (c warningCollector) Handle(_ context.Context, r slog.Record) error {
	select {
	case c <- r:
	default:
	}
	return nil
}

func TestFloodIsBoundedAndLoggedOnce(t *testing.T) {
	t.Parallel()
	// Kind 0, progress, belongs to a call: see TestSlowSinkDoesNotStallOtherCalls.
	for kind, name := range map[int]string{1: "log", 2: "unknown", 3: "requests"} {
		t.Run(name, func(t *testing.T) {
			var seen atomic.Int64
			said := make(chan slog.Record, 1000)
			m := start(t, "flood", func(o *wire.MuxOptions) {
				o.Log = slog.New(warningCollector(said))
				o.OnNotification = func(string, json.RawMessage) { seen.Add(1) }
			})
			mustCall(t, m, fmt.Sprintf(`{"arguments":{"kind":%d}}`, kind), nil)
			assert.Truef(t, seen.Load() <= 10_000, "%d of 100,000 notifications passed", seen.Load())
			if warnings := len(said); warnings != 1 && name != "requests" { // requests are refused one by one
				t.Errorf("%d warnings", warnings)
			}
		})
	}
}

func TestNonReadingServerFailsCallThenConnection(t *testing.T) {
	t.Parallel()
	m := start(t, "stops-reading", func(o *wire.MuxOptions) { o.WriteTimeout = 3 * time.Second })
	_, err := m.Call(context.Background(), "tools/list", nil, core.Span{}, nil)
	require.NoError(t, err)
	params := []byte(`{"arguments":{"text":"` + strings.Repeat("x", 200_000) + `"}}`)
	// On a busy machine, the deadline of a call may pass before it is sent, so there is another one.
	for n, began := 0, time.Now(); ; n++ {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_, err := m.Call(ctx, "tools/call", params, core.Span{}, nil)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) { // the connection has ended
			assert.NotEqual(t, 0, n, err)
			break
		}
		require.True(t, time.Since(began) <= eventually.Limit, "the connection goes on")
	}
	<-m.Done()
	assert.Contains(t, m.Err().Error(), "stopped reading")
}
