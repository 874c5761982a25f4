//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// memory returns the peak memory of the daemon's process since the last call, and its present
// memory, in bytes.
func (d *daemon) memory(t testing.TB) (most, now int64) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/", d.process(t))
	status, err := os.ReadFile(dir + "status")
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kb, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmHWM:":
			most = kb << 10
		case "VmRSS:":
			now = kb << 10
		}
	}
	if err := os.WriteFile(dir+"clear_refs", []byte("5"), 0); err != nil { // reset the peak
		t.Skipf("the kernel does not measure anew: %v", err)
	}
	return most, now
}

// process returns the daemon's process, which is the watchdog's only child.
func (d *daemon) process(t testing.TB) int {
	t.Helper()
	for _, p := range processes() {
		if p.parent == d.cmd.Process.Pid {
			return p.pid
		}
	}
	t.Fatal("no daemon")
	return 0
}

type hostileServer struct {
	server
	PID, Restarts int
}

func (d *daemon) hostile(id string) (s hostileServer) {
	d.t.Helper()
	d.get("/api/v1/servers/"+id, &s)
	return s
}

// Servers write too much, too little, or invalid messages: each case affects only its own call,
// within the promised memory.
func TestHostileOutputAffectsOnlyItsCall(t *testing.T) {
	impatient := func(mode string) object {
		s := testServer(t, mode)
		s["requestTimeoutMs"] = 1000
		return s
	}
	d := start(t, object{"mcpServers": object{
		"good": testServer(t, "echo"), "banner": testServer(t, "banner"), "junk": testServer(t, "junk"),
		"giant": testServer(t, "giant"), "endless": impatient("endless"), "deep": testServer(t, "deep"), "badtext": testServer(t, "bad-text"),
		"flood": testServer(t, "flood"), "deaf": impatient("stops-reading"), "stderr": testServer(t, "stderr-flood"),
	}})
	d.running("good", "banner", "junk", "giant", "endless", "deep", "badtext", "flood", "deaf", "stderr")
	client := &rawClient{t: t, url: d.url + "/mcp", token: d.token("e2e"), modern: true}
	call := func(t *testing.T, server, arguments string) (answer string, took time.Duration) {
		t.Helper()
		began := time.Now()
		answer = client.post("tools/call", server+"__echo", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+server+`__echo","arguments":`+arguments+`,`+modernMeta+`}}`)
		return answer, time.Since(began)
	}
	has := func(t *testing.T, answer string, fragments ...string) {
		t.Helper()
		for _, fragment := range fragments {
			assert.Contains(t, answer, fragment, "the answer has no")
		}
	}
	// neighbour checks that another server responds as usual meanwhile.
	neighbour := func(t *testing.T) {
		t.Helper()
		answer, took := call(t, "good", `{"still":"well"}`)
		has(t, answer, `"still":"well"`)
		assert.Truef(t, took <= limit(500*time.Millisecond), "a neighbour took %s", took)
	}
	const mb = 1 << 20
	// measured runs a case and checks its memory usage.
	measured := func(t *testing.T, bound int64, hostile func()) {
		t.Helper()
		_, before := d.memory(t)
		began := time.Now()
		hostile()
		took := time.Since(began)
		most, _ := d.memory(t)
		t.Logf("%s, at most %d MB more", took.Round(time.Millisecond), (most-before)/mb)
		if most-before > bound {
			t.Errorf("it took %d MB, promised are %d", (most-before)/mb, bound/mb)
		}
		neighbour(t)
	}
	same := func(t *testing.T, id string, was hostileServer) {
		t.Helper()
		assert.Equalf(t, was.PID, d.hostile(id).PID, "server %s", id)
	}
	restarted := func(t *testing.T, id string, was hostileServer) {
		t.Helper()
		eventually.Complete(t, limit(10*time.Second), func() string {
			if is := d.hostile(id); is.State != "running" || is.PID == was.PID {
				return fmt.Sprintf("server %s is not restarted: %+v", id, is)
			}
			return ""
		})
	}

	t.Run("FRM-01 FRM-02 banners and junk are skipped and in the server's log", func(t *testing.T) {
		for _, id := range []string{"banner", "junk"} {
			was := d.hostile(id)
			answer, _ := call(t, id, `{"a":1}`)
			has(t, answer, `"result"`)
			assert.NotContains(t, answer, `"isError":true`)
			same(t, id, was)
		}
		for id, line := range map[string]string{"banner": "My server v1", "junk": "console.log"} {
			eventually.True(t, line+" in the log", func() bool { return strings.Contains(d.serverLog(t, id), line) })
		}
	})
	t.Run("FRM-05 a result of 50 MB fails its call", func(t *testing.T) {
		was := d.hostile("giant")
		measured(t, 40*mb, func() {
			answer, _ := call(t, "giant", `{"size":52428800}`)
			has(t, answer, "bytes long; the limit is")
		})
		answer, _ := call(t, "giant", `{"size":1000}`)
		has(t, answer, "gggg")
		same(t, "giant", was)
	})
	t.Run("FRM-06 a line without end ends its server", func(t *testing.T) {
		was := d.hostile("endless")
		measured(t, 50*mb, func() {
			answer, _ := call(t, "endless", `{}`)
			has(t, answer, `"isError":true`, "endless")
			restarted(t, "endless", was)
		})
	})
	t.Run("FRM-07 deep nesting fails its call", func(t *testing.T) {
		was := d.hostile("deep")
		for _, depth := range []int{9_000, 1_000_000} {
			answer, _ := call(t, "deep", fmt.Sprintf(`{"depth":%d}`, depth))
			has(t, answer, `"isError":true`)
			answer, _ = call(t, "deep", `{"depth":100}`)
			has(t, answer, "[[[[")
		}
		same(t, "deep", was)
	})
	t.Run("FRM-08 text that is none is repaired, forwarded and kept", func(t *testing.T) {
		answer, _ := call(t, "badtext", `{}`)
		has(t, answer, `a`+"\uFFFD"+`b\u0000\ufffd\u001b`)
		eventually.Complete(t, limit(2*time.Second), func() string {
			for _, c := range d.calls() {
				if c.Server == "badtext" && c.Outcome == "ok" {
					var row record
					d.get("/api/v1/calls/"+c.ID, &row)
					if strings.Contains(row.Result, "\uFFFD") {
						return ""
					}
					return "kept as " + row.Result
				}
			}
			return "the call is not in the history"
		})
	})
	for kind, name := range map[int]string{1: "log lines", 2: "notifications", 3: "requests"} {
		t.Run("FRM-11 a flood of "+name, func(t *testing.T) {
			measured(t, 50*mb, func() {
				answer, took := call(t, "flood", fmt.Sprintf(`{"n":100000,"kind":%d}`, kind))
				has(t, answer, "done")
				assert.Truef(t, took <= limit(2*time.Second), "it took %s", took)
			})
		})
	}
	t.Run("FRM-12 a server that does not read fails its call at the deadline", func(t *testing.T) {
		// In the era of the server, so that no other connection is tried first.
		legacy := &rawClient{t: t, url: client.url, token: client.token}
		legacy.initialize()
		began := time.Now()
		answer := legacy.post("tools/call", "deaf__echo", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deaf__echo","arguments":{"text":"`+strings.Repeat("x", 200_000)+`"}}}`)
		took := time.Since(began)
		has(t, answer, `"isError":true`, "requestTimeoutMs")
		t.Logf("deadline 1 s, failed after %s", took.Round(time.Millisecond))
		assert.Truef(t, took >= time.Second && took <= time.Second+limit(100*time.Millisecond), "it failed after %s, its deadline is 1 s", took)
		neighbour(t)
	})
	t.Run("FRM-14 a flood on stderr blocks nobody", func(t *testing.T) {
		was := d.hostile("stderr")
		measured(t, 50*mb, func() {
			answer, _ := call(t, "stderr", `{}`)
			has(t, answer, "done")
		})
		same(t, "stderr", was)
	})
}

// record is a call, because in the test a function has that name.
type record = call

// serverLog returns a server's own log.
func (d *daemon) serverLog(t testing.TB, id string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(d.data, "*", "servers", id+"*"))
	require.NoErrorf(t, err, "no log of server %s", id)
	require.NotEmptyf(t, files, "no log of server %s", id)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}
