//go:build e2e

package e2e

import (
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func demo() object { return object{"command": binary, "args": []string{"demo-server"}} }

func (d *daemon) tools() []string {
	d.t.Helper()
	var list struct {
		Items []struct{ Name, Server string }
	}
	d.get("/api/v1/tools", &list)
	var names []string
	for _, tool := range list.Items {
		names = append(names, tool.Server+" "+tool.Name)
	}
	return names
}

func TestStoppedDaemonLeavesNoProcess(t *testing.T) {
	t.Parallel()
	config, _ := realServers(t)
	config["mcpServers"].(object)["demo"] = demo()
	// A server behind a launcher, such as npx.
	config["mcpServers"].(object)["wrapped"] = object{"command": "sh", "args": []string{"-c", "'" + binary + "' demo-server; exit $?"}}
	d := start(t, config)
	d.running("files", "every", "memory", "thinking", "demo", "wrapped")
	n := len(descendants(d.cmd.Process.Pid))
	require.Truef(t, n >= 7, "only %d processes were there to be left behind", n)
	d.stop() // checks that nothing is left
}

// A closed terminal and the end of a session send SIGHUP. The daemon then stops as usual, also
// during a call, which is answered.
func TestClosedTerminalStopsDaemon(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{"demo": demo(), "silent": with(testServer(t, "silent-call"), object{"concurrency": object{"max": 5}}), "stubborn": testServer(t, "stubborn")}})
	d.running("demo", "silent", "stubborn")
	family := descendants(d.cmd.Process.Pid)
	answered := make(chan string, 1)
	go func() {
		resp, err := http.DefaultClient.Do(d.request("POST", "/api/v1/call", strings.NewReader(`{"server":"silent","tool":"echo","arguments":{}}`)))
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		answered <- string(body)
	}()
	eventually.Complete(t, limit(5*time.Second), func() string {
		if _, body := d.do("GET", "/api/v1/policy", nil); !strings.Contains(body, `"running":1`) {
			return "the call is not under way: " + body
		}
		return ""
	})
	d.cmd.Process.Signal(syscall.SIGHUP)
	eventually.Receive(t, limit(6*time.Second), "still there after SIGHUP", d.done)
	assert.Equal(t, 0, d.cmd.ProcessState.ExitCode(), "SIGHUP: exit")
	eventually.Complete(t, limit(2*time.Second), func() string { return alive(family) })
	body := <-answered
	assert.Contains(t, body, `"success":false`, "the call is answered")
}

func TestSecondDaemonNamesFirst(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{}})
	cmd := command(t, d.env(), binary, "serve", "--data", d.data, "--listen", "127.0.0.1:0")
	out, err := cmd.CombinedOutput()
	code := cmd.ProcessState.ExitCode()
	require.Truef(t, code == 1 && strings.Contains(string(out), d.url), "exit %d (%v)\n%s", code, err, out)
}

// runtime.json, the log and the entries of clients name the address on which the daemon listens,
// and its web UI is open under that name.
func TestEveryLoopbackAddressWorks(t *testing.T) {
	t.Parallel()
	hosts := []string{"127.0.0.2"}
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil { // many containers have no IPv6
		l.Close()
		hosts = append(hosts, "[::1]")
	}
	for _, host := range hosts {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			d := newDaemon(t)
			_, port, _ := strings.Cut(ownPort(t), ":")
			d.write("config.jsonc", object{"bridge": object{"listen": host + ":" + port}, "mcpServers": object{"demo": demo()}})
			d.url = "http://" + host + ":" + port
			want := d.url
			d.launch()
			if d.url != want || !strings.Contains(d.log.String(), "url="+want) && !strings.Contains(d.log.String(), `url="`+want) {
				t.Errorf("the runtime file has %s, the log\n%s", d.url, d.log)
			}
			d.running("demo")
			out := d.cli(0, "call", "demo", "add", `{"a": 1, "b": 2}`)
			assert.Truef(t, strings.HasPrefix(out, "3\n"), "call: %s", out)
			out = d.cli(0, "open", "--print")
			assert.Truef(t, strings.HasPrefix(out, want+"/#code="), "open: %s", out)
			assert.Contains(t, d.cli(0, "clients", "connect", "cursor", "--http", "--snippet"), want+"/mcp")
			req := d.request("GET", "/api/v1/status", nil)
			req.Header.Set("Origin", want)
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, http.StatusOK, resp.StatusCode, "with its own origin")
			d.cli(0, "quit")
		})
	}
}
