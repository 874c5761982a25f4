//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() { roles["juggler"] = serveShuffledResponses }

// serveShuffledResponses is an MCP server that holds calls until as many are in flight as each of
// them specifies, and then responds in random order. It never responds to a call with hold; the
// tool told returns which calls were cancelled.
func serveShuffledResponses() {
	type request struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name      string
			RequestID json.RawMessage
			Arguments struct {
				Who    string
				N, All int
				Hold   bool
			}
			Meta map[string]json.RawMessage `json:"_meta"`
		}
	}
	var mu sync.Mutex
	out := bufio.NewWriter(os.Stdout)
	say := func(format string, args ...any) { // the caller must hold mu
		fmt.Fprintf(out, format+"\n", args...)
		out.Flush()
	}
	waiting := map[string]request{}
	var told []string
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		mu.Lock()
		switch _, isModern := r.Params.Meta["io.modelcontextprotocol/protocolVersion"]; {
		case r.Method == "initialize":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"juggler","version":"1"}}}`, r.ID)
		case r.Method == "tools/list":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[{"name":"juggle","inputSchema":{"type":"object"}},{"name":"told","inputSchema":{"type":"object"}}]}}`, r.ID)
		case r.Method == "ping":
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, r.ID)
		case r.Method == "notifications/cancelled":
			id := string(r.Params.RequestID)
			if call, ok := waiting[id]; ok {
				delete(waiting, id)
				told = append(told, fmt.Sprintf("%s %d", call.Params.Arguments.Who, call.Params.Arguments.N))
			} else {
				told = append(told, "a call of nobody")
			}
		case r.Method == "tools/call" && r.Params.Name == "told":
			list, _ := json.Marshal(told)
			say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"told":%s}}}`, r.ID, list)
		case r.Method == "tools/call":
			a := r.Params.Arguments
			say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"%s %d"}}`, r.Params.Meta["progressToken"], a.Who, a.N)
			waiting[string(r.ID)] = r
			if len(waiting) < a.All {
				break
			}
			for id, r := range waiting { // in random order
				a := r.Params.Arguments
				say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":2,"message":"%s %d"}}`, r.Params.Meta["progressToken"], a.Who, a.N)
				if a.Hold {
					continue
				}
				say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s %d"}]}}`, id, a.Who, a.N)
				delete(waiting, id)
			}
		case r.ID != nil:
			code := -32601
			if isModern {
				code = -32022
			}
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`, r.ID, code)
		}
		mu.Unlock()
	}
}

// stream POSTs a request and passes each message of the response to hear as it arrives.
func (c *rawClient) stream(ctx context.Context, name, body string, hear func(message string)) error {
	resp, err := http.DefaultClient.Do(c.request(ctx, "POST", "tools/call", name, body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body, err := io.ReadAll(resp.Body)
		hear(string(body))
		return err
	}
	lines := bufio.NewReaderSize(resp.Body, 64<<10)
	for {
		line, err := lines.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			hear(strings.TrimSuffix(data, "\n"))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// The test has 200 calls of each of two clients in flight at the same time. Their ids and progress
// tokens are equal, and some are cancelled at random. Each client receives only the messages of its
// own calls, and the server receives exactly the cancellations that were sent.
func TestClientsWithEqualIDsStaySeparate(t *testing.T) {
	t.Parallel()
	const each = 200
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("DRAWBRIDGE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("DRAWBRIDGE_SEED=%d", seed)
	d := start(t, object{"mcpServers": object{"one": testServerAs(t, "juggler")}})
	d.running("one")

	for round, modern := range [][2]bool{{false, false}, {true, true}, {false, true}} {
		t.Run(fmt.Sprintf("modern=%v", modern), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, uint64(round)))
			before := len(d.cancelledCalls(t))
			var wg sync.WaitGroup
			cancelled := map[string]bool{}
			for k, who := range []string{"ann", "bob"} {
				who += strconv.Itoa(round)
				c := &rawClient{t: t, url: d.url + "/mcp", token: d.token(who), modern: modern[k]}
				if !c.modern {
					c.initialize()
				}
				for i := range each {
					hold := random.IntN(4) == 0
					if hold {
						cancelled[fmt.Sprintf("%s %d", who, i)] = true
					}
					meta := `"_meta":{"progressToken":` + tokenOf(i) + `}`
					if c.modern {
						meta = strings.Replace(modernMeta, `{`, `{"progressToken":`+tokenOf(i)+`,`, 1)
					}
					body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one__juggle","arguments":{"who":%q,"n":%d,"all":%d,"hold":%v},%s}}`,
						i, who, i, 2*each, hold, meta)
					wg.Go(func() { c.callShuffledServer(t, who, i, hold, body) })
				}
			}
			wg.Wait()
			// The server receives the cancellation a moment after the client has disconnected.
			eventually.Complete(t, limit(5*time.Second), func() string {
				told := d.cancelledCalls(t)[before:]
				if len(told) < len(cancelled) {
					return fmt.Sprintf("the server was told of %d cancelled calls, not %d", len(told), len(cancelled))
				}
				require.Truef(t, len(told) <= len(cancelled), "the server was told of %d cancelled calls, not %d: %v", len(told), len(cancelled), told)
				for _, call := range told {
					assert.Truef(t, cancelled[call], "the server was told that %s is cancelled, which it was not", call)
				}
				return ""
			})
			t.Logf("%d calls in flight, %d of them cancelled", 2*each, len(cancelled))
		})
	}
}

// tokenOf returns the progress token of a client's call i: a number or a string.
func tokenOf(i int) string {
	if i%2 == 0 {
		return strconv.Itoa(i)
	}
	return fmt.Sprintf(`"t%d"`, i)
}

// callShuffledServer makes one call, cancels it if hold is set, and checks every message that it
// receives.
func (c *rawClient) callShuffledServer(t *testing.T, who string, i int, hold bool, body string) {
	ctx, cancel := context.WithTimeout(t.Context(), limit(30*time.Second))
	defer cancel()
	me := fmt.Sprintf("%s %d", who, i)
	progress, ended := 0, false
	err := c.stream(ctx, "one__juggle", body, func(message string) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Message       string
				ProgressToken json.RawMessage
			}
			Result struct{ Content []struct{ Text string } }
			Error  json.RawMessage
		}
		if err := json.Unmarshal([]byte(message), &m); err != nil {
			t.Errorf("%s hears %q: %v", me, message, err)
			return
		}
		switch {
		case m.Method == "notifications/progress":
			progress++
			if m.Params.Message != me || string(m.Params.ProgressToken) != tokenOf(i) || ended {
				t.Errorf("%s hears %s (after its end: %v)", me, message, ended)
			}
			if hold && progress == 2 { // all calls are in flight
				if c.modern {
					cancel()
				} else {
					note := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i)
					assert.NoError(t, c.stream(ctx, "", note, func(string) {}), me)
				}
			}
		case string(m.ID) == strconv.Itoa(i):
			ended = true
			text := ""
			if len(m.Result.Content) == 1 {
				text = m.Result.Content[0].Text
			}
			assert.Truef(t, !(!hold && text != me) && !(hold && !strings.Contains(message, "cancelled")), "%s (cancelled: %v) gets %s", me, hold, message)
		default:
			t.Errorf("%s hears %s", me, message)
		}
	})
	if hold && c.modern {
		return // the client has disconnected
	}
	assert.Truef(t, err == nil && ended && progress == 2, "%s: %v, answered: %v, %d notifications", me, err, ended, progress)
}

// cancelledCalls returns the calls for which the server received a cancellation.
func (d *daemon) cancelledCalls(t testing.TB) []string {
	t.Helper()
	code, body := d.do("POST", "/api/v1/call", strings.NewReader(`{"server":"one","tool":"told","arguments":{}}`))
	var got struct {
		Success bool
		Data    struct{ Told []string }
	}
	err := json.Unmarshal([]byte(body), &got)
	require.Truef(t, err == nil && code == 200 && got.Success, "told: %d %s: %v", code, body, err)
	return got.Data.Told
}

// A client library would lose notifications that follow each other closely in the pipe, so the test
// reads the raw stream.
func TestFourThousandNotificationsPrecedeReplyInOrder(t *testing.T) {
	t.Parallel()
	const n = 4000
	d := start(t, object{"mcpServers": object{"one": testServer(t, "progress")}})
	d.running("one")
	for _, at := range []struct{ path, tool string }{{"/mcp", "one__echo"}, {"/s/one/mcp", "echo"}} {
		for _, modern := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s modern=%v", at.path, modern), func(t *testing.T) {
				c := &rawClient{t: t, url: d.url + at.path, token: d.token("raw"), modern: modern}
				meta := `"_meta":{"progressToken":"p"}`
				if modern {
					meta = strings.Replace(modernMeta, `{`, `{"progressToken":"p",`, 1)
				} else {
					c.initialize()
				}
				heard := 0
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":%q,"arguments":{"n":%d},%s}}`, at.tool, n, meta)
				err := c.stream(t.Context(), at.tool, body, func(message string) {
					heard++
					want := fmt.Sprintf(`"progress":%d,"progressToken":"p"`, heard)
					if heard == n+1 {
						want = `"id":"x"`
					}
					if heard > n+1 || !strings.Contains(message, want) {
						t.Fatalf("message %d is %s", heard, tail(message))
					}
				})
				require.NoError(t, err)
				require.Equal(t, n+1, heard)
			})
		}
	}
}
