//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

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

// testServerAs returns the entry of a server that is this binary in a role.
func testServerAs(t testing.TB, role string) object {
	e := testServer(t, "")
	e["env"] = object{"DRAWBRIDGE_E2E_ROLE": role}
	return e
}
