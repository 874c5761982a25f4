//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

func TestPageShowsServersAndCallsLive(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{"demo": demo()}})
	d.running("demo")
	link := strings.TrimSpace(d.cli(0, "open", "--print"))
	if !strings.HasPrefix(link, d.url+"/") || !strings.Contains(link, "#code=") {
		t.Fatalf("open --print prints %q", link)
	}
	var found struct {
		Address          string
		StartSeenAfterMs int64
	}
	browse(t, d, "page-live-calls.mjs", object{"link": link}, &found)
	if strings.Contains(found.Address, "code=") {
		t.Errorf("the code stays in the address: %s", found.Address)
	}
	if took := time.Duration(found.StartSeenAfterMs) * time.Millisecond; took > limit(time.Second) {
		t.Errorf("a call that starts is shown after %s", took)
	}
}
