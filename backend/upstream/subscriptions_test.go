package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

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
			if err != nil {
				t.Fatal(err)
			}
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
	if err != nil || string(reply.Result) != `{}` {
		t.Fatal(string(reply.Result), err)
	}
	if moved := receive(t, got); moved != params {
		t.Errorf("the server got %s", moved)
	}
}
