//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// listen opens the stream of a legacy session and sends each message to the channel. The channel is
// closed at the end of the stream.
func (c *rawClient) listen(t testing.TB, headers ...string) (messages chan string, status int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req := c.request(ctx, "GET", "", "", "")
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	messages = make(chan string, 1000)
	go func() {
		defer close(messages)
		lines := bufio.NewReader(resp.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok && strings.TrimSpace(data) != "" {
				messages <- data
			}
		}
	}()
	return messages, resp.StatusCode
}

func (d *daemon) sessions() (n int) {
	d.t.Helper()
	var clients struct{ Items []struct{ Sessions int } }
	d.get("/api/v1/clients", &clients)
	for _, c := range clients.Items {
		n += c.Sessions
	}
	return n
}

func TestSES03InitializeFloodIsBounded(t *testing.T) {
	d := bridged(t)
	greedy := &rawClient{t: t, url: d.url + "/mcp", token: d.token("greedy")}
	other := &rawClient{t: t, url: d.url + "/mcp", token: d.token("other")}
	other.initialize()
	open := func(n int) (ids []string) {
		for range n {
			greedy.session = ""
			greedy.post("initialize", "", hello)
			ids = append(ids, greedy.session)
		}
		return ids
	}
	first := open(1000)
	before := d.rss(t)
	began := time.Now()
	last := open(9000)
	took := time.Since(began)
	assert.Equal(t, 65, d.sessions())
	for i, want := range map[int]int{0: 404, 8000: 404, 8935: 404, 8936: 200, 8999: 200} {
		greedy.session = last[i]
		code, answer := d.as(greedy, ping)
		assert.Equalf(t, want, code, "%v %v", i, answer)
	}
	greedy.session = first[0]
	code, _ := d.as(greedy, ping)
	assert.Equal(t, 404, code, "the first session")
	code, answer := d.as(other, ping)
	assert.Equal(t, 200, code, answer)
	after := d.rss(t)
	t.Logf("10,000 sessions: memory %.1f MB, then %.1f MB; %s each", float64(before)/(1<<20), float64(after)/(1<<20), took/9000)
	assert.Truef(t, after <= before+10<<20, "memory grows by %d MB", (after-before)>>20)
}

func TestSES06SameNamedToolsStayDistinctAndRenameIsAnnounced(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{"left": testServer(t, "echo"), "right": testServer(t, "legacy")}})
	d.running("left", "right")
	c := &rawClient{t: t, url: d.url + "/mcp", token: d.token("ses")}
	c.initialize()
	heard, status := c.listen(t)
	require.Equal(t, 200, status)
	list := func() string {
		_, answer := d.as(c, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		return answer
	}
	got := list()
	require.Truef(t, strings.Contains(got, `"left__echo"`) && strings.Contains(got, `"right__echo"`), "listed are %s", got)
	d.write("config.jsonc", object{"mcpServers": object{"left": testServer(t, "echo"), "renamed": testServer(t, "legacy")}})
	d.running("left", "renamed")
	eventually.Complete(t, limit(5*time.Second), func() string {
		if got := list(); !strings.Contains(got, `"left__echo"`) || !strings.Contains(got, `"renamed__echo"`) || strings.Contains(got, `"right__echo"`) {
			return "listed are " + got
		}
		return ""
	})
	for tool, works := range map[string]bool{"left__echo": true, "renamed__echo": true, "right__echo": false} {
		_, answer := d.as(c, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"x":1}}}`)
		assert.Equal(t, works, strings.Contains(answer, `"structuredContent":{"x":1}`), tool)
	}
	// All messages are in the stream by now, or follow when the daemon stops.
	d.stop()
	changes := 0
	for message := range heard {
		if strings.Contains(message, "notifications/tools/list_changed") {
			changes++
		}
	}
	t.Logf("the rename was announced %d times", changes)
	if changes < 1 || changes > 2 { // one name was removed, the other was added when its server was ready
		t.Errorf("the rename was announced %d times", changes)
	}
}

func TestSES08ForgedEventIDRevealsNoEvents(t *testing.T) {
	t.Parallel()
	d := bridged(t)
	victim := &rawClient{t: t, url: d.url + "/mcp", token: d.token("victim")}
	victim.initialize()
	_, status := victim.listen(t)
	require.Equal(t, 200, status)
	c := &rawClient{t: t, url: d.url + "/mcp", token: d.token("forger")}
	c.initialize()
	for _, id := range []string{"1", "0", "forged_1", victim.session + "_0", "_0", victim.session, "-1", strings.Repeat("9", 40), "\u00e9", "a_b_c"} {
		messages, status := c.listen(t, "Last-Event-ID", id)
		if status == 200 {
			t.Errorf("Last-Event-ID %q opens a stream", id)
			continue
		}
		for message := range messages {
			t.Errorf("Last-Event-ID %q gets %s", id, message)
		}
		assert.Falsef(t, status != 400 && status != 404, "Last-Event-ID %q: %d", id, status)
	}
	code, answer := d.as(c, ping)
	assert.Equal(t, 200, code, answer)
	// Without an event id the client opens its stream as usual.
	_, status = c.listen(t)
	assert.Equal(t, 200, status)
}

// testServerAs returns the entry of a server that is this binary in a role.
func testServerAs(t testing.TB, role string) object {
	e := testServer(t, "")
	e["env"] = object{"DRAWBRIDGE_E2E_ROLE": role}
	return e
}
