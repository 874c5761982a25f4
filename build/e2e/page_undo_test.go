//go:build e2e

package e2e

import (
	"net/url"
	"path/filepath"
	"testing"
)

// Whatever destroys something by the page of the real daemon is taken back with a click, or
// asked about.
func TestWhatThePageDestroysComesBackOrIsAskedAbout(t *testing.T) {
	remote, _ := guarded(t)
	later := filepath.Join(t.TempDir(), "later")
	d := start(t, object{"mcpServers": object{"demo": demo(), "web": object{"url": remote.URL + "/mcp"}, "later": object{"command": later}}}, "DRAWBRIDGE_KEYRING=off")
	cursor := filepath.Join(d.home, ".cursor/mcp.json")
	put(t, cursor, "{\n  \"mcpServers\": {}\n}\n")
	d.running("demo")
	does := map[string]func(url.Values) string{"/move": func(url.Values) string {
		d.stop()
		d.url = "" // at another port
		d.launch("DRAWBRIDGE_KEYRING=off")
		d.running("demo")
		return d.url
	}}
	browse(t, d, "page-undo.mjs", 13, object{"token": d.token("life"), "control": control(t, d, nil, does), "cursor": cursor, "guarded": remote.URL, "later": later, "binary": binary}, nil)
}
