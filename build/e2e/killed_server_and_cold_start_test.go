//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The process of a server is killed during more calls than the breaker tolerates. Their clients
// immediately get an error that says so, and a new process serves the next call.
func TestKilledServerFailsCallAndServesNext(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "flag")
	// A process that starts while the flag exists never responds to a call.
	script := `if [ -e "$FLAG" ]; then export ` + mcptest.Env + `=silent-call; fi; exec "$SERVER"`
	hangCalls := func() {
		require.NoError(t, os.WriteFile(flag, nil, 0o600))
	}
	hangCalls()
	d := start(t, object{"mcpServers": object{
		"fragile": object{"command": "/bin/sh", "args": []string{"-c", script}, "env": object{mcptest.Env: "legacy", "FLAG": flag, "SERVER": os.Args[0]}},
		"other":   testServer(t, "echo"),
	}})
	client := &rawClient{t: t, url: d.url + "/mcp", token: d.token("e2e"), modern: true}
	call := func(server, note string) string {
		return client.post("tools/call", server+"__echo", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+server+`__echo","arguments":{"note":"`+note+`"},`+modernMeta+`}}`)
	}
	type status struct {
		server
		PID      int
		InFlight int
	}
	var failing, next times
	for round := range rounds(t, 5, 8) {
		d.running("fragile", "other")
		var st status
		const calls = 8
		answered := make(chan string, calls)
		for range calls {
			go func() { answered <- call("fragile", "lost") }()
		}
		eventually.Complete(t, limit(5*time.Second), func() string {
			if d.get("/api/v1/servers/fragile", &st); st.InFlight != calls || st.PID == 0 {
				return fmt.Sprintf("round %d: not all calls are under way: %+v", round, st)
			}
			return ""
		})
		require.NoError(t, os.Remove(flag))
		began := time.Now()
		require.NoError(t, syscall.Kill(st.PID, syscall.SIGKILL))
		for n := range calls {
			answer := eventually.Receive(t, limit(5*time.Second), "a call goes on though its server is dead", answered)
			if !strings.Contains(answer, `fragile`) || !strings.Contains(answer, `"isError":true`) && !strings.Contains(answer, `"error"`) {
				t.Fatalf("the lost call: %s", answer)
			}
			if round+n == 0 {
				t.Logf("the lost call: %s", tail(answer))
			}
		}
		failing = append(failing, time.Since(began))
		assert.Contains(t, call("other", "well"), "well", "another server")
		began = time.Now()
		require.Contains(t, call("fragile", "served"), `"note":"served"`, "the next call")
		next = append(next, time.Since(began))
		hangCalls()
		d.get("/api/v1/servers/fragile", &st)
		served := st.PID
		code, body := d.do("POST", "/api/v1/servers/fragile/restart", strings.NewReader("{}"))
		require.Equal(t, http.StatusOK, code, body)
		eventually.TrueWithin(t, limit(10*time.Second), "the server is not restarted", func() bool {
			d.get("/api/v1/servers/fragile", &st)
			return st.PID != served
		})
	}
	worst := slices.Max(failing)
	assert.Truef(t, worst <= limit(200*time.Millisecond), "a call whose server was killed failed after %s only", worst)
	worst = slices.Max(next)
	assert.Truef(t, worst <= limit(time.Second), "the call after took %s", worst)
	t.Logf("a call whose server was killed failed after %s; the next one, with the restart, took %s", failing, next)
}

// Twenty servers start on demand: their tools of an earlier run are listed before any of them runs.
func TestColdStartListsToolsFromCache(t *testing.T) {
	const n = 20
	servers := object{}
	for i := range n {
		s := testServer(t, "echo")
		s["start"] = "onDemand"
		servers[fmt.Sprintf("s%02d", i)] = s
	}
	d := start(t, object{"mcpServers": servers})
	token := d.token("e2e")
	eventually.Complete(t, limit(20*time.Second), func() string {
		if got := len(d.tools()); got != n {
			return fmt.Sprintf("%d of %d tools are known", got, n)
		}
		return ""
	})
	d.stop()

	address := strings.TrimPrefix(d.url, "http://")
	var ready, listed times
	for range rounds(t, 3, 5) {
		began := time.Now()
		d.startProcess(address)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			conn, err := net.Dial("tcp", address)
			if err == nil {
				conn.Close()
				break
			}
			require.True(t, time.Since(began) <= limit(5*time.Second) && !d.ended(), err)
			<-tick.C
		}
		ready = append(ready, time.Since(began))
		client := &rawClient{t: t, url: d.url + "/mcp", token: token, modern: true}
		answer := client.post("tools/list", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`)
		listed = append(listed, time.Since(began))
		var reply struct {
			Result struct{ Tools []struct{ Name string } }
		}
		require.NoError(t, json.Unmarshal([]byte(answer), &reply))
		require.Equal(t, n, len(reply.Result.Tools), "the first list")
		self, err := os.Executable()
		require.NoError(t, err)
		for _, p := range descendants(d.cmd.Process.Pid) { // the login shell may run at the same time
			assert.Falsef(t, strings.HasPrefix(p.command, self), "a list started a server: %v", p)
		}
		called := client.post("tools/call", "s07__echo", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s07__echo","arguments":{"a":1},`+modernMeta+`}}`)
		assert.Contains(t, called, `"a":1`, "a call does not start its server")
		d.stop()
	}
	worst := slices.Max(listed)
	assert.Truef(t, worst <= limit(500*time.Millisecond), "the first complete list came after %s", worst)
	t.Logf("after the start of the program: accepting connections %s; first complete tools/list of %d servers %s", ready, n, listed)
}
