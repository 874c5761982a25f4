//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

// The test debugs a server over HTTP: the timeline contains the messages in both directions without
// the secret.
func TestRemoteServerMessagesAreOnTimeline(t *testing.T) {
	t.Parallel()
	far := start(t, object{"mcpServers": object{"demo": object{"command": binary, "args": []string{"demo-server"}}}})
	far.running("demo")
	token := far.token("near")
	near := start(t, object{"mcpServers": object{"far": object{
		"url": far.url + "/s/demo/mcp", "headers": object{"Authorization": "Bearer " + token}, "debug": true,
	}}})
	near.running("far")
	near.cli(0, "call", "far", "echo", `{"text":"seen on its way ghp_cnry17A1b2C3d4E5f6G7h8I9j0"}`)
	eventually(t, limit(10*time.Second), func() string {
		var page struct {
			Items []struct{ From, Text, Server string }
		}
		near.get("/api/v1/frames?server=far&limit=500", &page)
		sent, said := false, false
		for _, f := range page.Items {
			if strings.Contains(f.Text, "ghp_cnry17") || strings.Contains(f.Text, token) {
				t.Fatalf("a secret is on the timeline: %s", f.Text)
			}
			if strings.Contains(f.Text, "seen on its way") {
				sent = sent || f.From == "drawbridge" && strings.Contains(f.Text, "tools/call")
				said = said || f.From == "server" && strings.Contains(f.Text, "content")
			}
		}
		if !sent || !said {
			return "the call is not among the frames"
		}
		return ""
	})
}
