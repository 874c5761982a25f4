//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shim starts a shim as clients start it. It must end without an error.
func (d *daemon) shim(t *testing.T) *lineClient {
	t.Helper()
	s := startLines(t, command(t, d.env(), binary, "stdio", "--client", "shim", "--data", d.data))
	t.Cleanup(func() {
		assert.NoError(t, s.end(), "the shim ends")
	})
	return s
}

// onSocket counts the connections to the daemon's socket.
func (d *daemon) onSocket(t *testing.T) (n int) {
	t.Helper()
	src, err := os.ReadFile("/proc/net/unix")
	require.NoError(t, err)
	for line := range strings.Lines(string(src)) {
		f := strings.Fields(line)
		if len(f) == 8 && f[7] == filepath.Join(d.data, "drawbridge.sock") && f[5] == "03" {
			n++
		}
	}
	return n
}

func TestShimIsSmallFastAndSurvivesDaemon(t *testing.T) {
	for _, socket := range []bool{false, true} {
		t.Run(fmt.Sprintf("socket=%v", socket), func(t *testing.T) {
			d := start(t, object{"bridge": object{"socket": socket}, "mcpServers": object{"demo": demo()}})
			d.running("demo")
			d.token("shim")
			var firsts, answers []time.Duration
			for range 5 {
				began := time.Now()
				d.shim(t).initialize(`{}`)
				firsts = append(firsts, time.Since(began))
			}
			s := d.shim(t)
			s.initialize(`{}`)
			for i := range 200 {
				began := time.Now()
				require.Contains(t, s.ask(10+i, "tools/call", `"name":"demo__echo","arguments":{"text":"hi"}`).line, "hi")
				answers = append(answers, time.Since(began))
			}
			var own int
			eventually.Complete(t, limit(4*time.Second), func() string { // memory that only the start needs is released after 2 s
				// The code of the program is shared with the daemon.
				p := process{pid: s.cmd.Process.Pid}
				if own = p.memory(t, "smaps_rollup", "Private_Clean", "Private_Dirty"); own > 8e6 {
					return fmt.Sprintf("%d bytes of own memory", own)
				}
				return ""
			})
			slices.Sort(firsts)
			slices.Sort(answers)
			t.Logf("own memory %.1f MB; first answer %s after the start (median of %d); a call %s (median of %d)",
				float64(own)/1e6, firsts[2].Round(time.Millisecond/10), len(firsts), answers[100].Round(time.Millisecond/100), len(answers))
			most := limit(40 * time.Millisecond)
			assert.Truef(t, firsts[2] <= most && answers[100] <= most, "more than %s", most)
			assert.Equal(t, socket, d.onSocket(t) > 0)

			// The daemon restarts at another port: the client is notified that the lists may have
			// changed, and continues.
			d.stop()
			d.write("config.jsonc", object{"bridge": object{"socket": socket}, "mcpServers": object{"demo": demo(), "more": demo()}})
			d.launch()
			s.hearNotification("notifications/tools/list_changed")
			d.running("demo", "more")
			var list struct{ Tools []struct{ Name string } }
			require.NoError(t, json.Unmarshal(s.ask(1000, "tools/list", "").Result, &list))
			if !slices.ContainsFunc(list.Tools, func(tool struct{ Name string }) bool { return tool.Name == "more__echo" }) {
				t.Errorf("the new server is not listed: %+v", list.Tools)
			}
		})
	}
}
