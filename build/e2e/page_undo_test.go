//go:build e2e

package e2e

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// Every destructive action on the page of the real daemon can be undone with a click or asks for
// confirmation.
func TestDestructiveActionsAreConfirmedOrUndoable(t *testing.T) {
	t.Parallel()
	remote, _ := startServerWithSignIn(t)
	later := filepath.Join(t.TempDir(), "later")
	// The browser that a daemon opens: it follows the redirect and records the address.
	programs := t.TempDir()
	opened, opener := filepath.Join(programs, "opened"), filepath.Join(programs, "xdg-open")
	putProgram(t, opener, ledTo+"to=$(ledTo \"$1\")\necho \"$to\" >>"+opened+"\nexec "+node+" -e 'fetch(process.argv[1]).then((reply) => reply.text())' \"$to\"\n")
	env := []string{"DRAWBRIDGE_KEYRING=off", "DISPLAY=:77", "PATH=" + programs + ":" + os.Getenv("PATH")}
	d := start(t, object{"mcpServers": object{"demo": demo(), "web": object{"url": remote.URL + "/mcp"}, "later": object{"command": later}}}, env...)
	cursor := filepath.Join(d.home, ".cursor/mcp.json")
	put(t, cursor, "{\n  \"mcpServers\": {}\n}\n")
	d.running("demo")
	does := map[string]func(url.Values) string{"/move": func(url.Values) string {
		d.stop()
		d.url = "" // at another port
		d.launch(env...)
		d.running("demo")
		return d.url
	}}
	browse(t, d, "page-undo.mjs", object{"opened": opened, "token": d.token("life"), "control": control(t, d, nil, does), "cursor": cursor, "guarded": remote.URL, "later": later, "binary": binary}, nil)
}
