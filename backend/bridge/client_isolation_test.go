package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Clients that use the same ids and progress tokens at the same time receive only the messages of
// their own calls, even when other clients cancel theirs.
func TestEqualIDsOfClientsStaySeparate(t *testing.T) {
	const perClient = 200
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := newFixture(t, func(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		// Only the arguments identify the call; all calls have the same token.
		var p struct{ Arguments struct{ Who, N string } }
		if err := json.Unmarshal(call.Params, &p); err != nil {
			return core.Reply{}, err
		}
		if p.Arguments.Who != call.Client.Token {
			return core.Reply{}, fmt.Errorf("a call of %s is recorded for %s", p.Arguments.Who, call.Client.Token)
		}
		r := rand.New(rand.NewPCG(seed, uint64(len(p.Arguments.N))))
		for i := range r.IntN(5) {
			sink.Notify("notifications/progress", json.RawMessage(fmt.Sprintf(`{"progressToken":%s,"progress":%d,"message":"%s %s"}`,
				wire.Bytes(call.Params, call.ProgressToken), i, p.Arguments.Who, p.Arguments.N)))
			if i == 2 {
				select {
				case <-ctx.Done():
					return core.Reply{}, context.Cause(ctx)
				case <-time.After(time.Duration(r.IntN(3)) * time.Millisecond):
				}
			}
		}
		if call.Era == core.Legacy && r.IntN(3) == 0 {
			reply, err := sink.Ask(ctx, "roots/list", nil)
			if err != nil {
				return core.Reply{}, err
			}
			if want := p.Arguments.Who; !strings.Contains(string(reply.Result), `"`+want+`"`) {
				return core.Reply{}, fmt.Errorf("asked %s, heard %s", want, reply.Result)
			}
		}
		return core.Reply{Result: textReply("%s %s", p.Arguments.Who, p.Arguments.N)}, nil
	})
	var wg sync.WaitGroup
	for _, who := range []string{"ann", "bob", "cyd"} {
		h := s.openSession("/mcp", `{"roots":{}}`, ClientHeader, who)
		modern := who == "cyd"
		for i := range perClient {
			wg.Go(func() {
				n := strings.Repeat("i", i+1)
				params := fmt.Sprintf(`"name":"math__add","arguments":{"Who":%q,"N":%q},"_meta":{"progressToken":%d}`, who, n, i)
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}`, i, params)
				headers := h
				if modern {
					body = strings.Replace(body, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`, 1)
					headers = []string{versionHeader, core.ModernVersion, methodHeader, "tools/call", nameHeader, "math__add", ClientHeader, who}
				}
				cancelled := !modern && i%7 == 0
				if cancelled {
					wg.Go(func() {
						s.post("/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i), h...)
					})
				}
				resp := s.post("/mcp", body, headers...)
				mine := `"text":"` + who + " " + n + `"`
				ended := false
				hear := func(m string) {
					switch {
					case strings.Contains(m, "notifications/progress"):
						if !strings.Contains(m, `"message":"`+who+" "+n+`"`) || !strings.Contains(m, fmt.Sprintf(`"progressToken":%d,`, i)) {
							t.Errorf("%s %d hears %s", who, i, m)
						}
					case strings.Contains(m, "notifications/cancelled"):
					case strings.Contains(m, "roots/list"):
						var ask struct{ ID string }
						_ = json.Unmarshal([]byte(m), &ask)
						s.post("/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"roots":[%q]}}`, ask.ID, who), h...)
					default:
						ended = true
						if !strings.Contains(m, fmt.Sprintf(`"id":%d,`, i)) || !strings.Contains(m, mine) && !(cancelled && strings.Contains(m, "cancelled")) {
							t.Errorf("%s %d gets %s", who, i, m)
						}
					}
				}
				if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
					hear(onlyMessage(t, resp))
				} else {
					for m := range events(resp.Body) {
						hear(m)
					}
				}
				if !ended {
					t.Errorf("%s %d gets no answer", who, i)
				}
			})
		}
	}
	wg.Wait()
}
