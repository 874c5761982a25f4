//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runWithInput runs a command with a time limit and returns its output and exit code.
func (d *daemon) runWithInput(within time.Duration, input string, env []string, args ...string) (text string, code int) {
	d.t.Helper()
	cmd := exec.Command(binary, append(args, "--data", d.data)...)
	cmd.Env, cmd.Stdin = append(d.env(), env...), strings.NewReader(input)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	late := time.AfterFunc(limit(within), func() { cmd.Process.Kill() })
	cmd.Wait()
	if !late.Stop() {
		d.t.Errorf("%v hangs", args)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// openServer starts a remote server that needs no sign-in.
func openServer(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answerAsServer(w, r, "hello", "for all")
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// With a real keyring: servers that need its key wait while it is locked, others continue, every
// command reports immediately what to do, and after unlocking everything continues without another
// sign-in.
func TestLockedKeyringBlocksOnlyDependents(t *testing.T) {
	t.Parallel()
	ring := startKeyring(t)
	bus := "DBUS_SESSION_BUS_ADDRESS=" + ring.address
	server, _ := startServerWithSignIn(t)
	var signIns atomic.Int32
	inner := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/authorize" {
			signIns.Add(1)
		}
		inner.ServeHTTP(w, r)
	})
	d := start(t, object{"mcpServers": object{
		"web":  object{"url": server.URL + "/mcp"},
		"open": object{"url": openServer(t)},
		"demo": object{"command": binary, "args": []string{"demo-server"}, "env": object{"API_KEY": "${secret:demo.key}"}},
	}}, bus)
	tell := func(within time.Duration, input string, args ...string) (string, int) {
		return d.runWithInput(within, input, []string{bus}, args...)
	}
	if out, code := tell(20*time.Second, "value-of-the-demo-key", "secret", "set", "demo.key"); code != 0 {
		t.Fatalf("%d %s", code, out)
	}
	eventually.Complete(t, limit(15*time.Second), func() string {
		if is := d.state("web"); is != "needs-login" {
			return "web is " + is
		}
		return ""
	})
	var pending struct{ URL string }
	out, _ := tell(20*time.Second, "", "login", "web", "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &pending), out)
	resp, err := http.Get(pending.URL)
	require.NoError(t, err)
	resp.Body.Close()
	d.running("web", "open", "demo")
	_, err = os.Stat(filepath.Join(d.data, "secrets.key"))
	assert.Error(t, err, "the key is in a file beside a keyring")
	d.stop()

	ring.stop()
	ring.launch("") // the user has not unlocked it yet
	began := time.Now()
	d.launch(bus)
	d.running("open")
	t.Logf("with a locked keyring the daemon and a server that needs none of it are there after %s", time.Since(began).Round(time.Millisecond))
	for id, tool := range map[string]string{"web": "whoami", "demo": "echo"} {
		eventually.Complete(t, limit(15*time.Second), func() string {
			_, body := d.do("GET", "/api/v1/servers/"+id, nil)
			if !strings.Contains(body, `"state":"waiting"`) || !strings.Contains(body, "needs-unlock") {
				return body
			}
			return ""
		})
		began := time.Now()
		_, body := d.do("POST", "/api/v1/call", strings.NewReader(`{"server":"`+id+`","tool":"`+tool+`","arguments":{}}`))
		if !strings.Contains(body, "needs-unlock") || time.Since(began) > limit(5*time.Second) {
			t.Errorf("a call to %s gets %s after %s", id, body, time.Since(began))
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"status"}, "drawbridge secret unlock"},
		{[]string{"login", "web"}, "drawbridge secret unlock"},
		{[]string{"secret"}, "drawbridge secret unlock"},
		{[]string{"secret", "rm", "demo.key"}, "drawbridge secret unlock"},
		{[]string{"doctor"}, "drawbridge secret unlock"},
		{[]string{"logout", "web"}, "drawbridge secret unlock"},
		{[]string{"test", "web"}, "drawbridge secret unlock"},
		{[]string{"test", "demo"}, "drawbridge secret unlock"},
		// Nobody responds to the prompt on this bus.
		{[]string{"secret", "unlock"}, "unlock the keyring with its own program"},
		{[]string{"secret", "set", "more"}, "unlock the keyring with its own program"},
	} {
		began := time.Now()
		out, _ := tell(75*time.Second, "value-of-more", c.args...)
		t.Logf("%v after %s: %s", c.args, time.Since(began).Round(time.Millisecond), strings.TrimSpace(tail(out)))
		assert.Contains(t, out, c.want, c.args)
		assert.Contains(t, out, "lock", c.args)
	}
	_, err = os.Stat(filepath.Join(d.data, "secrets.key"))
	assert.Error(t, err, "a second key was made, in a file")

	ring.stop()
	ring.launch("the user's password")
	began = time.Now()
	d.running("web", "demo")
	t.Logf("unlocked, they run after %s", time.Since(began).Round(time.Millisecond))
	assert.Empty(t, d.says("web", "whoami", `{}`))
	assert.EqualValues(t, 1, signIns.Load())
	if out, _ := tell(20*time.Second, "", "status"); strings.Contains(out, "unlock") {
		t.Errorf("afterwards status says %s", out)
	}

	// Locking it later has no effect, because the key is in memory.
	ring.stop()
	ring.launch("")
	assert.Empty(t, d.says("web", "whoami", `{}`))
	d.cli(0, "restart", "demo")
	d.running("demo")
	assert.Contains(t, d.cli(0, "logout", "web"), "signed out")
}
