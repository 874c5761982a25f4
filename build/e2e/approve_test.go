//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// CFG-06 with the built program: with approveNewCommands: ask, a command that is added to or
// changed in the file does not run before the user has approved it. An approval remains valid after
// a restart.
func TestNewCommandWaitsForApprovalOnCommandLine(t *testing.T) {
	t.Parallel()
	servers := object{"old": testServer(t, "echo")}
	write := func(d *daemon) {
		d.write("config.jsonc", object{"globalSettings": object{"approveNewCommands": "ask"}, "mcpServers": servers})
	}
	d := start(t, object{"mcpServers": servers})
	d.running("old")
	waits := func(id, state string) {
		t.Helper()
		eventually.Complete(t, limit(5*time.Second), func() string {
			if _, is := d.do("GET", "/api/v1/servers/"+id, nil); !strings.Contains(is, `"state":"`+state+`"`) {
				return id + ": " + tail(is)
			}
			return ""
		})
	}

	write(d)
	servers["new"] = testServer(t, "echo")
	write(d)
	waits("new", "needs-approval")
	waits("old", "running") // its command has not changed
	if pid := d.hostile("new").PID; pid != 0 {
		t.Fatalf("a command that waits runs as process %d", pid)
	}
	d.cli(1, "call", "new", "echo")
	if out := d.cli(0, "approvals"); !strings.Contains(out, "command:new") {
		t.Errorf("approvals lists\n%s", out)
	}
	d.cli(0, "approvals", "deny", "command:new")
	waits("new", "needs-approval")
	d.cli(1, "approvals", "allow", "command:nothing")

	var list struct {
		Items []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(d.cli(0, "approvals", "--json")), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%v %+v", err, list)
	}
	seen := list.Items[0].ID
	servers["new"].(object)["args"] = []string{"other"}
	write(d)
	eventually.Complete(t, limit(5*time.Second), func() string {
		if strings.Contains(d.cli(0, "approvals", "--json"), seen) {
			return "the command that nobody wants any more still waits"
		}
		return ""
	})
	d.cli(1, "approvals", "allow", seen) // the approved command differs from the one that would run
	waits("new", "needs-approval")

	d.cli(0, "approvals", "allow", "command:new")
	d.running("new")
	if out := d.cli(0, "approvals"); !strings.Contains(out, "No approvals are pending.") {
		t.Errorf("approvals lists\n%s", out)
	}

	d.stop()
	d.launch()
	d.running("old", "new")
}
