//go:build e2e

package e2e

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// SOK-02: the latency that Drawbridge adds to a call while sixteen clients make 725 calls per
// second. The measured times are those from a client to the server and back, including recording,
// so the added latency is less.
func TestSevenHundredCallsPerSecondStayFast(t *testing.T) {
	const clients, perSecond, seconds = 16, 725, 4
	d := start(t, object{"mcpServers": object{"swift": object{"command": smallServer(t), "args": []string{"echo"}}}})
	d.running("swift")
	token := d.token("pace")
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	call := func(session string, n int) (time.Duration, error) {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"swift__echo","arguments":{"n":%d},%s}}`, n, n, modernMeta)
		if session != "" {
			body = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"swift__echo","arguments":{"n":%d}}}`, n, n)
		}
		req, err := http.NewRequest("POST", d.url+"/mcp", strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
			req.Header.Set("MCP-Protocol-Version", "2025-11-25")
		} else {
			req.Header.Set("MCP-Protocol-Version", "2026-07-28")
			req.Header.Set("Mcp-Method", "tools/call")
			req.Header.Set("Mcp-Name", "swift__echo")
		}
		began := time.Now()
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		took := time.Since(began)
		if err == nil && (resp.StatusCode != http.StatusOK || !bytes.Contains(answer, fmt.Appendf(nil, `"n":%d`, n))) {
			err = fmt.Errorf("%s: %s", resp.Status, tail(string(answer)))
		}
		return took, err
	}
	made := 0
	// Another program may use the machine for a moment: one of three attempts must pass.
	for try := range 3 {
		took, lasted := paced(t, d, token, clients, perSecond, perSecond*seconds, call)
		made += len(took)
		p50, p99 := took[len(took)/2], took[len(took)*99/100]
		t.Logf("%d calls in %s: p50 %s, p99 %s, worst %s", len(took), lasted.Round(time.Millisecond), p50.Round(time.Microsecond), p99.Round(time.Microsecond), took[len(took)-1].Round(time.Microsecond))
		if p50 <= limit(2*time.Millisecond) && p99 <= limit(10*time.Millisecond) && lasted <= limit((seconds+1)*time.Second) {
			break
		}
		assert.NotEqualf(t, 2, try, "three times not: p50 %s, p99 %s, in %s", p50, p99, lasted)
	}
	d.stop()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(d.data, "history.db")+"?mode=ro")
	require.NoError(t, err)
	defer db.Close()
	var rows int
	err = db.QueryRow(`SELECT count(*) FROM call c JOIN target t ON t.id = c.target_id WHERE t.method = 'tools/call'`).Scan(&rows)
	assert.Truef(t, err == nil && rows == made, "%d of %d calls are recorded (%v)", rows, made, err)
}

// paced makes perSecond calls per second by clients of both eras alternately, and returns their
// sorted durations.
func paced(t *testing.T, d *daemon, token string, clients, perSecond, calls int, call func(session string, n int) (time.Duration, error)) (took times, lasted time.Duration) {
	t.Helper()
	took = make(times, calls)
	var next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for i := range clients {
		raw := &rawClient{t: t, url: d.url + "/mcp", token: token}
		if i%2 == 0 { // the other half is of the modern era, which has no sessions
			raw.initialize()
		}
		all.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= calls {
					return
				}
				<-time.After(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(perSecond))))
				var err error
				if took[n], err = call(raw.session, n); err != nil {
					t.Errorf("call %d: %v", n, err)
					return
				}
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	return took, time.Since(began)
}
