//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

func TestPageShowsServersAndCallsLive(t *testing.T) {
	t.Parallel()
	config, _ := realServers(t)
	config["mcpServers"].(object)["demo"] = demo()
	config["mcpServers"].(object)["broken"] = object{"command": "no-such-program-anywhere"}
	d := start(t, config)
	d.running("demo", "files", "every", "memory", "thinking")
	link := strings.TrimSpace(d.cli(0, "open", "--print"))
	if !strings.HasPrefix(link, d.url+"/") || !strings.Contains(link, "#code=") {
		t.Fatalf("open --print prints %q", link)
	}
	var found struct {
		Address                                string
		Pages                                  []struct{ Name, Scheme, Background string }
		StartSeenAfterMs                       int64
		EndSeen, Detail, Locked, LinkWorksOnce bool
	}
	browse(t, d, "page.mjs", 0, object{"link": link, "callsPage": "Calls"}, &found)
	if strings.Contains(found.Address, "code=") {
		t.Errorf("the code stays in the address: %s", found.Address)
	}
	if len(found.Pages) < 10 {
		t.Errorf("only these pages were found: %+v", found.Pages)
	}
	background := map[string]map[string]bool{"light": {}, "dark": {}}
	for _, p := range found.Pages {
		background[p.Scheme][p.Background] = true
	}
	for colour := range background["light"] {
		if background["dark"][colour] {
			t.Errorf("light and dark have the same background %s", colour)
		}
	}
	if !found.EndSeen || !found.Detail || !found.Locked || !found.LinkWorksOnce {
		t.Errorf("%+v", found)
	}
	if took := time.Duration(found.StartSeenAfterMs) * time.Millisecond; took > limit(time.Second) {
		t.Errorf("a call that starts is seen after %s", took)
	}
}
