//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Like TestHostileOutputAffectsOnlyItsCall, but before the first response: the output of a server
// during its start is skipped, or fails its own start in bounded memory and with a reason, and
// delays no other server.
func TestHostileStartOutputAffectsOnlyItsServer(t *testing.T) {
	server := smallServer(t)
	says := func(script string) object {
		return object{"command": "/bin/sh", "args": []string{"-c", script + `; exec "$0" echo`, server}}
	}
	never := func(script string) object {
		s := object{"command": "/bin/sh", "args": []string{"-c", script}, "startupTimeoutMs": 3000}
		s["restart"] = object{"maxAttempts": 1}
		return s
	}
	lines := func(n int, line string) string { return fmt.Sprintf(`yes '%s' | head -n %d`, line, n) }
	long := func(n int, c string) string {
		return fmt.Sprintf(`head -c %d /dev/zero | tr '\0' '%s'; echo`, n, c)
	}
	cases := []struct {
		id, title string
		entry     object
		running   bool
		log       string // expected in the server's log
	}{
		{"banner", "FRM-01", says(`echo "My server v1"; printf '\357\273\277ready\r\n\n'`), true, "My server v1"},
		{"json", "FRM-02", says(`printf '{"level":"info"}\n["x"]\n"x"\nnull\n[]\n2026-01-01 ready\n'`), true, "2026-01-01 ready"},
		{"giant", "FRM-05", says(long(50<<20, "x")), true, ""},
		{"endless", "FRM-06", never(`exec tr '\0' x </dev/zero`), false, ""},
		{"deep", "FRM-07", says(long(9_000, "[") + "; " + long(1_000_000, "[")), true, ""},
		{"badtext", "FRM-08", says(`printf 'a\377b\000\033[31m\n'`), true, "a"},
		{"notes", "FRM-11, notifications", says(lines(100_000, `{"jsonrpc":"2.0","method":"notifications/x"}`)), true, ""},
		{"asks", "FRM-11, requests", says(lines(100_000, `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage"}`)), true, ""},
		{"deaf", "FRM-12", never(`exec sleep 86400`), false, ""},
		{"quirky", "FRM-13", object{"command": server, "args": []string{"quirky"}}, true, ""},
		{"stderr", "FRM-14", says(`yes eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee | head -c 100000000 >&2`), true, "dropped"},
	}
	// First a daemon with only the neighbour, to measure the memory of all starts.
	good := object{"command": server, "args": []string{"echo"}}
	d := start(t, object{"mcpServers": object{"good": good}})
	d.running("good")
	client := &rawClient{t: t, url: d.url + "/mcp", token: d.token("e2e"), modern: true}
	_, before := d.memory(t)
	servers := object{"good": good}
	for _, c := range cases {
		servers[c.id] = c.entry
	}
	began := time.Now()
	d.write("config.jsonc", object{"mcpServers": servers})
	ends := func(c string) string { s := d.hostile(c); return s.State + ": " + s.Reason }
	worst := time.Duration(0)
	for _, c := range cases {
		want := "running: "
		if !c.running {
			want = "crashed: "
		}
		eventually.Complete(t, limit(20*time.Second), func() string {
			at := time.Now()
			answer := client.post("tools/call", "good__echo", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"good__echo","arguments":{"still":"well"},`+modernMeta+`}}`)
			worst = max(worst, time.Since(at))
			require.Contains(t, answer, `"still":"well"`, "the neighbour answers")
			if code, _ := d.do("GET", "/api/v1/servers/"+c.id, nil); code != 200 {
				return "the new configuration is not in force"
			}
			if is := ends(c.id); !strings.HasPrefix(is, want) {
				return fmt.Sprintf("%s: server %s is %s", c.title, c.id, is)
			}
			return ""
		})
	}
	took := time.Since(began)
	most, _ := d.memory(t)
	t.Logf("all %d within %s, at most %d MB more; the neighbour answered within %s", len(cases), took.Round(time.Millisecond), (most-before)>>20, worst.Round(time.Millisecond))
	assert.Truef(t, most-before <= 150<<20, "the starts took %d MB", (most-before)>>20)
	assert.Truef(t, worst <= limit(time.Second), "the neighbour took %s", worst)
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			if !c.running {
				is := ends(c.id)
				t.Log(is)
				assert.Falsef(t, c.id == "deaf" && !strings.Contains(is, "startupTimeoutMs"), "the reason names no limit: %s", is)
				return
			}
			tool := map[bool]string{true: "odd", false: "echo"}[c.id == "quirky"]
			answer := client.post("tools/call", c.id+"__"+tool, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+c.id+`__`+tool+`","arguments":{},`+modernMeta+`}}`)
			assert.Contains(t, answer, `"result"`)
			assert.NotContains(t, answer, `"isError":true`)
			assert.Contains(t, d.serverLog(t, c.id), c.log, "the log has no")
		})
	}
}
