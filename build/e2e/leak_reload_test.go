//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// CFG-04: one of twenty servers is changed; the processes of the others stay.
func TestServerChangeKeepsOtherProcesses(t *testing.T) {
	t.Parallel()
	const n = 20
	servers, ids := object{}, []string{}
	for i := range n {
		id := fmt.Sprintf("s%02d", i)
		ids = append(ids, id)
		servers[id] = testServer(t, "legacy")
	}
	d := start(t, object{"mcpServers": servers})
	d.running(ids...)
	pids := func() map[string]int {
		var list struct{ Items []hostileServer }
		d.get("/api/v1/servers", &list)
		found := map[string]int{}
		for _, s := range list.Items {
			found[s.ID] = s.PID
		}
		return found
	}
	before := pids()
	servers["s07"].(object)["args"] = []string{"changed"}
	began := time.Now()
	d.write("config.jsonc", object{"mcpServers": servers})
	eventually.Complete(t, limit(5*time.Second), func() string {
		if is := d.hostile("s07"); is.PID == before["s07"] || is.State != "running" {
			return fmt.Sprintf("the changed server: %+v", is)
		}
		return ""
	})
	t.Logf("from the save to the new process: %s", time.Since(began).Round(time.Millisecond))
	for id, pid := range pids() {
		if id != "s07" && pid != before[id] {
			t.Errorf("server %s was process %d and is %d now", id, before[id], pid)
		}
	}
}
