//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (c *lineClient) call(id int, server, more string) string {
	c.t.Helper()
	return c.ask(id, "tools/call", fmt.Sprintf(`"name":"%s__echo","arguments":{"n":1}%s`, server, more)).line
}

type instancesOf struct {
	Instances []struct {
		Name, Workspace, State string
		PID                    int
	}
}

// folders counts the instances of a server by folder, as they report it and as the system reports
// it.
func (d *daemon) folders(server string) map[string]int {
	d.t.Helper()
	var s instancesOf
	d.get("/api/v1/servers/"+server, &s)
	found := map[string]int{}
	for _, one := range s.Instances {
		if one.State != "running" {
			continue
		}
		dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", one.PID))
		if err != nil || dir != one.Workspace {
			d.t.Errorf("the instance of %s runs in %q: %v", one.Workspace, dir, err)
		}
		found[one.Workspace] = one.PID
	}
	return found
}

// A server that depends on the project runs once in each project: in the client's first root, or in
// the folder where the client started its shim.
func TestServerRunsInClientProject(t *testing.T) {
	t.Parallel()
	project := testServer(t, "echo")
	project["cwd"] = "${workspaceFolder}"
	inProject := object{"tool": "ruled__*", "where": object{"/path": object{"notUnder": "${workspaceFolder}"}}, "then": "deny"}
	d := start(t, object{"mcpServers": object{"project": project, "other": testServer(t, "echo"), "ruled": testServer(t, "echo")},
		"policy": object{"rules": []object{inProject}}})
	d.running("project", "other", "ruled")
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	folder := func(name string) string {
		dir := filepath.Join(base, name)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		return dir
	}
	want := func(n int, dir string) int {
		t.Helper()
		found := d.folders("project")
		require.Len(t, found, n, "instances run")
		require.NotEqual(t, 0, found[dir], "instances run")
		return found[dir]
	}
	good := func(answer string) {
		t.Helper()
		require.Contains(t, answer, `"structuredContent":{"n":`)
	}

	// A legacy client without roots: the folder of its shim.
	plain := d.shimIn(folder("here it is"))
	plain.initialize(`{}`)
	good(plain.call(1, "project", ""))
	first := want(1, folder("here it is"))

	// A legacy client with roots gets one roots/list until it reports a change.
	rooted := d.shimIn(folder("here it is"))
	rooted.root = folder("root")
	rooted.initialize(`{"roots":{"listChanged":true}}`)
	good(rooted.call(1, "other", ""))
	assert.Equal(t, 0, rooted.asked, "a client is asked for its roots by a server that needs none")
	for id, dir := range map[int]string{21: "root", 22: "here it is"} { // a rule about paths needs them
		answer := rooted.ask(id, "tools/call", fmt.Sprintf(`"name":"ruled__echo","arguments":{"path":"%s/a"}`, folder(dir))).line
		assert.Equal(t, dir != "root", strings.Contains(answer, "a rule denied"), "a path")
	}
	good(rooted.call(2, "project", ""))
	good(rooted.call(3, "project", ""))
	want(2, folder("root"))
	assert.Equal(t, 1, rooted.asked, "the client was asked")
	rooted.root = folder("second")
	rooted.say(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	eventually.TrueWithin(t, limit(5*time.Second), "the client is not asked again", func() bool {
		good(rooted.call(4+rooted.asked, "project", ""))
		return rooted.asked == 2
	})
	want(3, folder("second"))

	// A modern client, by its shim only and by its roots.
	modern := d.shimIn(folder("modern"))
	meta := func(capabilities string) string {
		return strings.Replace(`,`+modernMeta, `clientCapabilities":{}`, `clientCapabilities":`+capabilities, 1)
	}
	good(modern.call(1, "project", meta(`{}`)))
	want(4, folder("modern"))
	answer := modern.call(2, "project", meta(`{"roots":{}}`))
	var asks struct {
		Result struct {
			ResultType    string
			InputRequests map[string]struct{ Method string }
			RequestState  string
		}
	}
	err = json.Unmarshal([]byte(answer), &asks)
	require.Truef(t, err == nil && len(asks.Result.InputRequests) == 1, "%v: %s", err, answer)
	for key, ask := range asks.Result.InputRequests {
		require.Equal(t, "roots/list", ask.Method)
		state, _ := json.Marshal(asks.Result.RequestState)
		good(modern.call(3, "project", fmt.Sprintf(`%s,"inputResponses":{%q:{"roots":[{"uri":"file://%s"}]}},"requestState":%s`, meta(`{"roots":{}}`), key, folder("modern root"), state)))
	}
	want(5, folder("modern root"))

	// The same folder has the same process for every client.
	again := d.shimIn(folder("here it is"))
	again.initialize(`{}`)
	good(again.call(1, "project", ""))
	assert.Equal(t, first, want(5, folder("here it is")))
	var calls struct {
		Items []struct{ Server, Workspace string }
	}
	eventually.Complete(t, limit(5*time.Second), func() string {
		d.get("/api/v1/calls?limit=200", &calls)
		for _, c := range calls.Items {
			if c.Server == "project" && c.Workspace == folder("modern root") {
				return ""
			}
		}
		return "no call says in which folder its client worked"
	})
}

// perSession: each shim and each session has its own process, which ends with it, however it ends.
func TestSessionProcessEndsWithSession(t *testing.T) {
	t.Parallel()
	own := testServer(t, "echo")
	own["session"] = "perSession"
	d := start(t, object{"mcpServers": object{"own": own}})
	d.running("own")
	pids := func() map[int]bool {
		var s instancesOf
		d.get("/api/v1/servers/own", &s)
		found := map[int]bool{}
		for _, one := range s.Instances {
			if one.PID != 0 {
				found[one.PID] = true
			}
		}
		return found
	}
	gone := func(pid int, within time.Duration) {
		t.Helper()
		began := time.Now()
		eventually.Complete(t, within, func() string {
			if syscall.Kill(pid, 0) == nil {
				return fmt.Sprintf("process %d lives on", pid)
			}
			return ""
		})
		t.Logf("gone after %s", time.Since(began).Round(time.Millisecond))
	}
	// next returns the process that a call started.
	next := func(before map[int]bool) int {
		t.Helper()
		for pid := range pids() {
			if !before[pid] {
				return pid
			}
		}
		t.Fatal("the call made no process of its own")
		return 0
	}

	before := pids()
	legacy := d.shimIn(t.TempDir())
	legacy.initialize(`{}`)
	legacy.call(1, "own", "")
	ofLegacy := next(before)

	before = pids()
	modern := d.shimIn(t.TempDir())
	modern.call(1, "own", ","+modernMeta)
	ofModern := next(before)

	before = pids()
	killed := d.shimIn(t.TempDir())
	killed.initialize(`{}`)
	killed.call(1, "own", "")
	ofKilled := next(before)

	before = pids()
	direct := &rawClient{t: t, url: d.url + "/mcp", token: d.token("direct")}
	direct.initialize()
	direct.post("tools/call", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"own__echo","arguments":{}}}`)
	ofDirect := next(before)

	legacy.end()
	gone(ofLegacy, limit(3*time.Second))
	modern.end()
	gone(ofModern, limit(3*time.Second))
	killed.cmd.Process.Kill()
	gone(ofKilled, limit(5*time.Second)+5*time.Second) // its stream may be restored within 5 s
	require.True(t, pids()[ofDirect], "the end of other sessions ended this one's process")
	direct.hangUp()
	gone(ofDirect, limit(3*time.Second))
}

// hangUp ends a legacy session.
func (c *rawClient) hangUp() {
	c.t.Helper()
	resp, err := http.DefaultClient.Do(c.request(context.Background(), "DELETE", "", "", ""))
	if err != nil {
		c.t.Fatal(err)
	}
	resp.Body.Close()
}
