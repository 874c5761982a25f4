//go:build e2e && linux

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// guestHost is a daemon with two servers, of which guests may use one tool, and with a user who watches
// the approvals.
func guestHost(t *testing.T) *daemon {
	t.Helper()
	d := start(t, object{
		"mcpServers": object{"demo": demo(), "other": demo()},
		"profiles":   object{"small": object{"servers": object{"demo": object{"includeTools": []string{"echo"}}}}},
	})
	d.running("demo", "other")
	d.watch()
	return d
}

// watch follows the events, as an open page does, so that approvals can be requested.
func (d *daemon) watch() {
	d.t.Helper()
	resp, err := http.DefaultClient.Do(d.request("GET", "/api/v1/events", nil))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { resp.Body.Close() })
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		d.t.Fatal(err)
	}
}

// approve waits for a call and approves it.
func (d *daemon) approve() {
	d.t.Helper()
	var id string
	eventually.Complete(d.t, limit(10*time.Second), func() string {
		var list struct{ Items []struct{ ID, Kind string } }
		if d.get("/api/v1/approvals", &list); len(list.Items) != 1 {
			return fmt.Sprintf("waiting: %+v", list.Items)
		}
		id = list.Items[0].ID
		return ""
	})
	d.cli(0, "approvals", "allow", id)
}

// guest adds a guest and returns its folder.
func (d *daemon) guest(args ...string) (folder string) {
	d.t.Helper()
	var added struct{ Folder string }
	if err := json.Unmarshal([]byte(d.cli(0, append([]string{"guests", "add", "--json"}, args...)...)), &added); err != nil {
		d.t.Fatal(err)
	}
	return added.Folder
}

// container returns the shim of a guest in a container without a network, started with the options of
// docker run.
func guestContainer(t *testing.T, image, folder string, options ...string) *exec.Cmd {
	args := append([]string{"run", "--rm", "--interactive", "--network", "none", "--mount", "source=" + binary + ",target=/drawbridge,type=bind,readonly"}, options...)
	if folder != "" {
		args = append(args, "--mount", "source="+folder+",target=/run/drawbridge,type=bind,readonly")
	}
	return command(t, nil, "docker", append(args, image, "/drawbridge", "stdio", "--socket", "/run/drawbridge/sock")...)
}

func emptyImage(t *testing.T) string {
	t.Helper()
	if out, err := exec.Command("docker", "info").CombinedOutput(); err != nil {
		t.Skipf("no Docker Engine answers: %v %s", err, tail(string(out)))
	}
	name := fmt.Sprintf("drawbridge-guest-%d-%d", os.Getpid(), containers.Add(1))
	importImage(t, name, map[string][]byte{"nothing": nil})
	return name
}

// publicProgram returns a copy of the program that every user can run.
func publicProgram(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "guest")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	run(t, exec.Command("cp", binary, dir), 0)
	run(t, exec.Command("chmod", "-R", "a+rx", dir), 0)
	return filepath.Join(dir, filepath.Base(binary))
}

// A client in a container without a network calls a tool of the host. It sees no other tool, waits for an
// approval on the host, and is in the history under its own name.
func TestGuestInContainer(t *testing.T) {
	t.Parallel()
	image := emptyImage(t)
	d := guestHost(t)
	one, two := d.guest("one", "--profile", "small"), d.guest("two", "--approval", "never")
	s, other := startLines(t, guestContainer(t, image, one)), startLines(t, guestContainer(t, image, two))
	s.initialize(`{"roots":{}}`)
	other.initialize(`{}`)
	got := s.ask(1, "tools/list", "").line
	assert.Truef(t, strings.Count(got, `"name"`) == 1 && strings.Contains(got, `"demo__echo"`), "the guest sees %s", got)
	s.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"from inside"}}}`)
	assert.Contains(t, other.ask(1, "tools/call", `"name":"other__echo","arguments":{"text":"at once"}`).line, "at once", "the other guest")
	d.approve()
	assert.Contains(t, s.hear("2").line, "from inside", "the approved call")
	for i, name := range []string{"other__echo", "demo__add"} {
		assert.Contains(t, s.ask(3+i, "tools/call", `"name":"`+name+`","arguments":{}`).line, "there is no tool", name)
	}
	eventually.Complete(t, limit(5*time.Second), func() string {
		by := map[string]string{}
		for _, c := range d.calls() {
			if c.Outcome == "ok" && c.Tool == "echo" {
				by[c.Token] = c.Server
			}
		}
		if by["one"] != "demo" || by["two"] != "other" {
			return fmt.Sprint("the history has ", by)
		}
		return ""
	})
	assert.Equal(t, 1, strings.Count(run(t, exec.Command("ss", "-Hltnp"), 0), fmt.Sprintf("pid=%d,", d.waitReady())))

	// The daemon is restarted behind both.
	d.stop()
	d.launch()
	d.running("demo", "other")
	d.watch()
	s.hearNotification("notifications/tools/list_changed")
	assert.Contains(t, other.ask(10, "tools/call", `"name":"other__echo","arguments":{"text":"again"}`).line, "again", "after the restart")
	s.say(`{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"again"}}}`)
	d.approve()
	assert.Contains(t, s.hear("11").line, "again", "after the restart")

	// A removed guest ends in the middle of a call; the other one does not notice.
	s.say(`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"never"}}}`)
	eventually.Complete(t, limit(5*time.Second), func() string {
		var list struct{ Items []struct{ ID string } }
		if d.get("/api/v1/approvals", &list); len(list.Items) != 1 {
			return "the call does not wait"
		}
		return ""
	})
	d.cli(0, "guests", "remove", "one")
	assert.Contains(t, s.hear("12").line, "error", "the call of the removed guest")
	var left struct{ Items []struct{ ID string } }
	if d.get("/api/v1/approvals", &left); len(left.Items) != 0 {
		t.Errorf("its approval still waits: %+v", left.Items)
	}
	assert.Contains(t, other.ask(12, "tools/list", "").line, "other__echo", "the other guest")
}

// Nobody but the guest gets anything through its socket, and the guest nothing anywhere else.
func TestGuestSocketKeepsOthersOut(t *testing.T) {
	t.Parallel()
	image := emptyImage(t)
	d := guestHost(t)
	one, two := d.guest("one", "--profile", "small", "--approval", "never"), d.guest("two", "--uid", "4711")
	token := func(folder string) string {
		text, err := os.ReadFile(filepath.Join(folder, "token"))
		require.NoError(t, err)
		return strings.TrimSpace(string(text))
	}
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"thief","version":"0"}}}` + "\n"
	reach := func(cmd *exec.Cmd) string {
		cmd.Stdin = strings.NewReader(hello)
		out := new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr = out, out
		err := cmd.Run()
		return fmt.Sprint(out, err)
	}
	inside := func(cmd *exec.Cmd) bool { return strings.Contains(reach(cmd), `"serverInfo"`) }
	post := func(token string) bool {
		req, err := http.NewRequest("POST", d.url+"/mcp", strings.NewReader(hello))
		require.NoError(t, err)
		req.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode == http.StatusOK || bytes.Contains(body, []byte("serverInfo"))
	}
	withToken := func(socket, token string) *exec.Cmd {
		return command(t, []string{"DRAWBRIDGE_TOKEN=" + token}, binary, "stdio", "--socket", filepath.Join(socket, "sock"))
	}
	public := publicProgram(t)
	asUser := func(uid, socket, token string) *exec.Cmd {
		return command(t, []string{"DRAWBRIDGE_TOKEN=" + token}, "setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", public, "stdio", "--socket", filepath.Join(socket, "sock"))
	}
	// A link to the folder of a guest that a container can make is one to its own files.
	for what, attack := range map[string]struct{ got, want bool }{
		"the guest":                               {inside(guestContainer(t, image, one)), true},
		"its user in the container":               {inside(guestContainer(t, image, two, "--user", "4711")), true},
		"its shim beside the daemon":              {inside(withToken(one, token(one))), true},
		"another user in the container":           {inside(guestContainer(t, image, two, "--user", "4712")), false},
		"a container without the mount":           {inside(guestContainer(t, image, "")), false},
		"a container with the token only":         {inside(guestContainer(t, image, "", "--env", "DRAWBRIDGE_TOKEN="+token(one))), false},
		"the folder of all guests, by a path":     {inside(command(t, nil, binary, "stdio", "--socket", filepath.Join(one, "../two/../one/../nobody/sock"))), false},
		"the token of another guest":              {inside(withToken(one, token(two))), false},
		"the token of a client":                   {inside(withToken(one, d.token("cursor"))), false},
		"the admin token":                         {inside(withToken(one, d.admin)), false},
		"no token":                                {inside(withToken(one, "dbr_x")), false},
		"the stolen token at the port":            {post(token(one)), false},
		"a user of this machine":                  {inside(asUser("65534", one, token(one))), false},
		"the user of the guest, on this machine":  {inside(asUser("4711", two, token(two))), false},
		"a client of this machine under its name": {inside(command(t, d.env(), binary, "stdio", "--client", "one", "--data", d.data)), false},
	} {
		assert.Equal(t, attack.want, attack.got, what)
	}
	for _, name := range []string{"../three", "a/b", "..", "/etc", "one/../two", "a b", "ONE", "one", "cursor"} {
		code, text := d.do("POST", "/api/v1/guests", strings.NewReader(fmt.Sprintf(`{"name":%q}`, name)))
		assert.Truef(t, code >= 400, "a guest is named %q: %s", name, text)
	}

	// A container with the folder writable replaces the socket by a link: the next daemon does not follow
	// it, and the guest is back.
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("mine"), 0o755))
	d.stop()
	for _, name := range []string{"sock", "token"} {
		require.NoError(t, os.Remove(filepath.Join(one, name)))
		require.NoError(t, os.Symlink(victim, filepath.Join(one, name)))
	}
	d.launch()
	assert.True(t, inside(guestContainer(t, image, one)), "the guest does not come back")
	info, err := os.Stat(victim)
	text, _ := os.ReadFile(victim)
	assert.Truef(t, err == nil && string(text) == "mine" && info.Mode().Perm() == 0o755, "the file behind the link is changed: %v %s", info, text)
}
