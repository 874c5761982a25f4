package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipeServer is a server over in-process pipes, which work in a synctest bubble. result returns the
// result for a request; "" sends no response. It is called for notifications too.
type pipeServer struct {
	stdin  *io.PipeWriter
	stdout *io.PipeReader
	out    *io.PipeWriter
	done   chan struct{}
	mu     sync.Mutex // one line at a time
}

func newPipeServer(result func(method string, params json.RawMessage) string) *pipeServer {
	s := &pipeServer{done: make(chan struct{})}
	var in *io.PipeReader
	in, s.stdin = io.Pipe()
	s.stdout, s.out = io.Pipe()
	go func() {
		defer close(s.done)
		defer s.out.Close()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			var m struct {
				ID, Params json.RawMessage
				Method     string
			}
			if json.Unmarshal(lines.Bytes(), &m) != nil {
				continue
			}
			if answer := result(m.Method, m.Params); answer != "" && len(m.ID) > 0 {
				s.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer)
			}
		}
	}()
	return s
}

func (s *pipeServer) say(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(s.out, format+"\n", a...)
}

func (s *pipeServer) Stdin() io.WriteCloser { return s.stdin }
func (s *pipeServer) Stdout() io.Reader     { return s.stdout }
func (s *pipeServer) Done() <-chan struct{} { return s.done }
func (s *pipeServer) Stop(context.Context) error {
	_ = s.stdin.Close()
	_ = s.stdout.Close()
	<-s.done
	return nil
}

// logBuffer collects log output.
type logBuffer struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Reading a changed list has a timeout of 30 seconds. Then the old list stays, the reason is
// logged, and the next change is read as usual.
func TestChangedListHasThirtySecondTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int32
		s := newPipeServer(func(method string, _ json.RawMessage) string {
			switch method {
			case "initialize":
				return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`
			case "tools/list":
				n := lists.Add(1)
				if n == 2 {
					return ""
				}
				return fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]}`, n)
			}
			return "{}"
		})
		var log logBuffer
		c, err := Connect(t.Context(), Options{
			Server: "test", Dial: func(context.Context) (Pipe, error) { return s, nil }, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		require.NoError(t, err)
		defer func() { _ = c.Close(context.Background()) }()
		const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		s.say(changed)
		time.Sleep(debounce + 30*time.Second - time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 2, lists.Load(), "before the limit")
		require.Empty(t, log.String(), "before the limit")
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		require.Contains(t, log.String(), "Cannot refresh a list after a change", "after the limit")
		require.Equal(t, "t1", c.Catalog().Tools[0].Name, "after the limit")
		s.say(changed)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, "t3", c.Catalog().Tools[0].Name, "the next change is not read")
	})
}

// Many changes in quick succession are read once.
func TestListChangeBurstIsReadOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lists, changes atomic.Int32
		s := newPipeServer(func(method string, _ json.RawMessage) string {
			switch method {
			case "initialize":
				return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`
			case "tools/list":
				return fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]}`, lists.Add(1))
			}
			return "{}"
		})
		c := connect(t, Options{
			Dial: func(context.Context) (Pipe, error) { return s, nil }, OnListChanged: func(core.Kind) { changes.Add(1) },
		})
		for range 100 {
			s.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			time.Sleep(debounce / 200)
		}
		time.Sleep(3 * debounce)
		synctest.Wait()
		if lists.Load() != 2 || changes.Load() != 1 || c.Catalog().Tools[0].Name != "t2" {
			t.Errorf("read %d times, reported %d times, %s", lists.Load(), changes.Load(), c.Catalog().Tools[0].Name)
		}
	})
}

// While subscriptions change faster than a server answers, the last request that it receives names the
// current ones: an earlier request never overtakes a later one. A request ends only after the server has
// acknowledged the next one, so that no notification is lost in between.
func TestLastListenNamesTheCurrentSubscriptions(t *testing.T) {
	t.Parallel()
	for _, acknowledges := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var s *pipeServer
			last, open, gaps := "", 0, 0
			s = newPipeServer(func(method string, params json.RawMessage) string {
				switch method {
				case "server/discover":
					return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`
				case "subscriptions/listen":
					var p struct {
						Notifications struct{ TaskIDs []string }
					}
					_ = json.Unmarshal(params, &p)
					last = fmt.Sprint(p.Notifications.TaskIDs)
					open++
					if acknowledges {
						s.say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}`)
					}
				case "notifications/cancelled":
					if open--; open == 0 {
						gaps++
					}
				}
				return ""
			})
			c, err := Connect(t.Context(), Options{Server: "test", Era: core.Modern, Dial: func(context.Context) (Pipe, error) { return s, nil }})
			require.NoError(t, err)
			defer func() { _ = c.Close(context.Background()) }()
			send := func(method string, n int) {
				call := &core.Call{Method: method, Params: fmt.Appendf(nil, `{"taskId":"%d"}`, n)}
				if _, err := c.Send(t.Context(), call, nil); err != nil {
					t.Fatal(err)
				}
			}
			for n := range 301 {
				send(core.SubscribeTask, n)
				if n > 0 {
					send(core.UnsubscribeTask, n-1)
				}
				if n%3 == 0 {
					time.Sleep(3 * acknowledgeTimeout)
					synctest.Wait()
					if want := fmt.Sprintf("[%d]", n); last != want || open != 1 || acknowledges && gaps > 0 {
						t.Fatalf("the last of %d requests is for %s, want %s; %d times, none was open", open, last, want, gaps)
					}
				}
			}
		})
	}
}

// A notification of a client reaches the server as it was sent, and has no reply.
func TestNotificationOfClientReachesServerUnchanged(t *testing.T) {
	t.Parallel()
	const params = `{"z":9007199254740993, "a":1.0}`
	got := make(chan string, 1)
	s := newPipeServer(func(method string, params json.RawMessage) string {
		switch method {
		case "initialize":
			return `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`
		case "vendor/x.moved":
			got <- string(params)
		}
		return ""
	})
	c := connect(t, Options{Dial: func(context.Context) (Pipe, error) { return s, nil }})
	reply, err := c.Send(t.Context(), &core.Call{Method: "vendor/x.moved", Params: json.RawMessage(params), OneWay: true}, nil)
	require.NoError(t, err)
	require.Equal(t, `{}`, string(reply.Result))
	assert.Equal(t, params, receive(t, got), "the server")
}
