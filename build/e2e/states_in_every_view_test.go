//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// wrongView compares what each view says about the servers with want, which has the state of each
// server, and returns the first difference. A server in withheld has one changed definition.
func (d *daemon) wrongView(want map[string]core.State, withheld string) string {
	var list web.List[core.ServerStatus]
	var status api.Status
	var health api.Health
	var findings web.List[doctor.Finding]
	d.get("/api/v1/servers", &list)
	d.get("/api/v1/status", &status)
	d.get("/healthz", &health)
	d.get("/api/v1/doctor", &findings)
	table := d.cli(0, "status")
	if len(list.Items) != len(want) || len(status.Servers) != len(want) {
		return fmt.Sprintf("%d and %d servers, want %d", len(list.Items), len(status.Servers), len(want))
	}
	reasons, found := map[string]int{}, map[string]int{}
	for _, r := range health.Reasons {
		reasons[r.Server+" "+r.State]++
	}
	for _, f := range findings.Items {
		word, _, _ := strings.Cut(f.Message, ":")
		found[f.Subject+" "+word]++
	}
	paused, troubled := 0, 0
	for i, s := range list.Items {
		state := want[s.ID]
		if s.State != state || status.Servers[i].State != state {
			return fmt.Sprintf("%s is %s and %s, want %s", s.ID, s.State, status.Servers[i].State, state)
		}
		if !strings.Contains(strings.Join(strings.Fields(table), " "), " "+s.ID+" "+state.Word()+" ") {
			return fmt.Sprintf("status does not say that %s is %s:\n%s", s.ID, state.Word(), table)
		}
		n := 0
		switch state {
		case core.StatePaused:
			paused = 1
		case core.StateFailed:
			n, troubled = 1, 1
		}
		if reasons[s.ID+" "+string(state)] != n || found[s.ID+" "+state.Word()] != n {
			return fmt.Sprintf("%s is %s, /healthz has %v, doctor %v", s.ID, state, reasons, found)
		}
	}
	n := 0
	if withheld != "" {
		n, troubled = 1, 1
	}
	if reasons[" paused"] != paused || found[" Paused"] != paused || strings.Contains(table, "All servers are paused") != (paused == 1) {
		return fmt.Sprintf("paused: %d; /healthz has %v, doctor %v, status:\n%s", paused, reasons, found, table)
	}
	if reasons[withheld+" withheld"] != n || found[withheld+" 1 changed definition withheld from clients"] != n || status.Withheld[withheld] != n || strings.Contains(table, "withheld") != (n == 1) {
		return fmt.Sprintf("withheld: %d; /healthz has %v, doctor %v, status %v:\n%s", n, reasons, found, status.Withheld, table)
	}
	if wantHealth := map[bool]string{true: "degraded", false: "ok"}[paused+troubled > 0]; health.Status != wantHealth {
		return fmt.Sprintf("the health is %s, want %s", health.Status, wantHealth)
	}
	return ""
}

// The API, /healthz, drawbridge status and drawbridge doctor name the same state, and count the
// same withheld definitions, also while all servers are paused and after that.
func TestEveryViewNamesTheSameState(t *testing.T) {
	t.Parallel()
	rug := testServer(t, "rug-pull")
	rug["env"].(object)[mcptest.PulledEnv] = filepath.Join(t.TempDir(), "pulled")
	manual, off := testServer(t, "mail"), testServer(t, "mail")
	manual["start"], off["disabled"] = "manual", true
	bad := object{"command": "/bin/false", "restart": object{"maxAttempts": 1}}
	d := start(t, object{"mcpServers": object{"rug": rug, "manual": manual, "off": off, "bad": bad}})
	want := map[string]core.State{"rug": core.StateRunning, "manual": core.StateStopped, "off": core.StateDisabled, "bad": core.StateFailed}
	see := func(withheld string) {
		t.Helper()
		eventually.Complete(t, limit(20*time.Second), func() string { return d.wrongView(want, withheld) })
	}
	see("")
	d.cli(0, "call", "rug", "pull")
	see("rug")
	d.cli(0, "stop", "--all")
	for id := range want {
		want[id] = core.StatePaused
	}
	want["off"] = core.StateDisabled
	see("rug")
	d.cli(0, "start", "--all")
	want["rug"], want["manual"], want["bad"] = core.StateRunning, core.StateStopped, core.StateFailed
	see("rug")

	// A configuration in which no server can run says why.
	for reason, config := range map[string]object{
		"No servers are configured":                    {},
		"All 2 servers are disabled":                   {"mcpServers": object{"off": off, "out": off}},
		"No server runs, because mcp.enabled is false": {"mcp": object{"enabled": false}, "mcpServers": object{"rug": rug}},
	} {
		d.write("config.jsonc", config)
		d.cli(0, "validate", "--apply") // a change from outside that stops all servers is held back
		eventually.Complete(t, limit(20*time.Second), func() string {
			_, text := d.do(http.MethodGet, "/api/v1/doctor", nil)
			var findings web.List[doctor.Finding]
			if err := json.Unmarshal([]byte(text), &findings); err != nil || !strings.Contains(text, reason) || !strings.Contains(d.cli(0, "status"), reason+". ") {
				return reason + " is not in " + text + d.cli(0, "status")
			}
			return ""
		})
	}
}
