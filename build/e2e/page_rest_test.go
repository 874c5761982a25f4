//go:build e2e

package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The buttons, menus and forms of the page that change nothing for good: filters, sums,
// copies, files to save, the palette, the phone; by the page of the real daemon.
func TestTheRestOfThePageWorksOnTheRealDaemon(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("no browser: %v", err)
	}
	limited := demo()
	limited["env"] = object{"API_TOKEN": "cnry-of-the-entry"}
	limited["tools"] = object{"slow": object{"maxRequestMs": 1000}}
	d := start(t, object{"mcpServers": object{"demo": demo(), "limited": limited}})
	d.running("demo", "limited")
	order, err := json.Marshal(object{
		"link": strings.TrimSpace(d.cli(0, "open", "--print")), "url": d.url, "admin": d.admin, "token": d.token("life"), "chromium": browser, "output": output,
		"patience": limit(10 * time.Second).Milliseconds(),
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, []string{"HOME=" + t.TempDir()}, node, abs("clients/page-rest.mjs"))
	cmd.Stdin = strings.NewReader(string(order))
	var found struct{ Done, Violations, Errors []string }
	if err := json.Unmarshal([]byte(run(t, cmd, 0)), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Done) < 17 {
		t.Errorf("only this was done: %q", found.Done)
	}
	for _, problem := range append(found.Violations, found.Errors...) {
		t.Error(problem)
	}
}
