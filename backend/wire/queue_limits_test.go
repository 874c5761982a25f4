package wire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// If the send queue of a server is full, a call or notification waits for space, but not beyond its
// deadline.
func TestCallWaitingForQueueEndsAtDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, says := io.Pipe()
		hears, out := io.Pipe() // never read
		m := wire.NewMux(wire.MuxOptions{Server: "deaf", In: in, Out: out, WriteTimeout: time.Hour})
		var all sync.WaitGroup
		all.Go(func() { _ = m.Run() })
		large := []byte(`{"arguments":{"text":"` + strings.Repeat("x", 5<<20) + `"}}`)
		for range 2 { // the first is being written, the second fills the queue
			all.Go(func() { _, _ = m.Call(context.Background(), "tools/call", large, core.Span{}, nil) })
			synctest.Wait()
		}
		for what, send := range map[string]func(context.Context) error{
			"call": func(ctx context.Context) error {
				_, err := m.Call(ctx, "tools/call", large, core.Span{}, nil)
				return err
			},
			"notification": func(ctx context.Context) error { return m.Notify(ctx, "notifications/x", large) },
		} {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			began := time.Now()
			if err := send(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 10*time.Second {
				t.Errorf("the %s ended after %s: %v", what, time.Since(began), err)
			}
			cancel()
		}
		m.Close(errors.New("test over"))
		says.Close()
		hears.Close()
		all.Wait()
	})
}

// Calls that wait for space in the send queue are sent in the order of their arrival: a short one
// that would fit does not overtake a long one, which could otherwise wait until its deadline.
func TestCallsThatWaitForQueueKeepTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, says := io.Pipe()
		hears, out := io.Pipe()
		m := wire.NewMux(wire.MuxOptions{Server: "slow", In: in, Out: out, WriteTimeout: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = m.Run() })
		// The first is being written, the second fills most of the queue, the third does not fit.
		for i, size := range []int{2 << 20, 700 << 10, 700 << 10, 5 << 10, 700 << 10, 10} {
			params := fmt.Appendf(nil, `{"name":"%d","arguments":{"text":"%s"}}`, i, strings.Repeat("x", size))
			all.Go(func() { _, _ = m.Call(ctx, "tools/call", params, core.Span{}, nil) })
			synctest.Wait()
		}
		lines := bufio.NewReader(hears)
		for i := range 6 {
			line, err := lines.ReadString('\n')
			want := fmt.Sprintf(`"name":"%d"`, i)
			assert.Truef(t, err == nil && strings.Contains(line, want), "%.60s came instead of %s, %v", line, want, err)
		}
		m.Close(errors.New("test over"))
		cancel()
		says.Close()
		hears.Close()
		all.Wait()
	})
}

// Sixteen requests of a server may wait for the user or a client at the same time. Another one is
// refused immediately, until one of them is answered.
func TestServerRequestsAreLimitedToSixteen(t *testing.T) {
	t.Parallel()
	in, says := io.Pipe()
	hears, out := io.Pipe()
	m := wire.NewMux(wire.MuxOptions{Server: "asking", In: in, Out: out})
	var all sync.WaitGroup
	all.Go(func() { _ = m.Run() })
	defer func() {
		m.Close(errors.New("test over"))
		says.Close()
		hears.Close()
		all.Wait()
	}()
	var open atomic.Int64
	answer := make(chan struct{})
	sink := &recorder{ask: func(ctx context.Context, _ string, _ json.RawMessage) (core.Reply, error) {
		open.Add(1)
		select {
		case <-answer:
		case <-ctx.Done():
		}
		return core.Reply{Result: []byte(`{"action":"accept"}`)}, nil
	}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	all.Go(func() { _, _ = m.Call(ctx, "tools/call", nil, core.Span{}, sink) })
	lines := make(chan string, 100)
	all.Go(func() {
		for s := bufio.NewScanner(hears); s.Scan(); {
			lines <- s.Text()
		}
	})
	heard := func() string {
		t.Helper()
		return eventually.Receive(t, 20*time.Second, "the server hears nothing more", lines)
	}
	heard() // the call
	ask := func(id int) {
		t.Helper()
		_, err := fmt.Fprintf(says, `{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{"message":"?"}}`+"\n", id)
		require.NoError(t, err)
	}
	for id := 1; id <= 20; id++ {
		ask(id)
	}
	for id := 17; id <= 20; id++ {
		line := heard()
		assert.Truef(t, strings.Contains(line, fmt.Sprintf(`"id":"q%d"`, id)) && strings.Contains(line, "-32000"), "request %d: %s", id, line)
	}
	eventually.True(t, "16 requests are open", func() bool { return open.Load() >= 16 })
	require.EqualValues(t, 16, open.Load())
	answer <- struct{}{}
	require.Contains(t, heard(), `"accept"`)
	ask(21) // one slot is free
	ask(22)
	line := heard()
	assert.Truef(t, strings.Contains(line, `"id":"q22"`) && strings.Contains(line, "-32000"), "request 22: %s", line)
	assert.EqualValues(t, 5, m.Stats().Dropped)
}
