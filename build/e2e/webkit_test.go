//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
)

// miniBrowser is the browser of WebKitGTK, the engine of the window.
const miniBrowser = "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser"

// webkit controls a window of WebKitGTK with the WebDriver protocol.
type webkit struct {
	t       testing.TB
	address string // of the session
}

func startWebkit(t testing.TB) *webkit {
	t.Helper()
	for _, need := range []string{"WebKitWebDriver", miniBrowser, "Xvfb", "dbus-daemon"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("no WebKitGTK to drive: %v", err)
		}
	}
	s := desktop(t)
	address := ownPort(t)
	_, port, _ := net.SplitHostPort(address)
	driver := s.command("WebKitWebDriver", "--port="+port)
	// Its sandbox cannot start without user namespaces, such as in a container.
	driver.Env = append(driver.Env, "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS=1", "LIBGL_ALWAYS_SOFTWARE=1")
	s.background(driver)
	w := &webkit{t: t, address: "http://" + address}
	eventually.Complete(t, patience, func() string {
		reply, err := http.Get(w.address + "/status")
		if err != nil {
			return err.Error()
		}
		reply.Body.Close()
		return ""
	})
	var made struct{ SessionID string }
	w.do("POST", "/session", object{"capabilities": object{"alwaysMatch": object{
		"webkitgtk:browserOptions": object{"binary": miniBrowser, "args": []string{"--automation"}},
	}}}, &made)
	w.address += "/session/" + made.SessionID
	t.Cleanup(func() { w.do("DELETE", "", nil, nil) })
	return w
}

// do sends one command and decodes the driver's response into value, unless nil.
func (w *webkit) do(method, path string, body, value any) {
	w.t.Helper()
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			w.t.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, w.address+path, sent)
	if err != nil {
		w.t.Fatal(err)
	}
	client := http.Client{Timeout: patience}
	reply, err := client.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if reply.StatusCode != http.StatusOK {
		w.t.Fatalf("%s %s: %s", method, path, text)
	}
	if value != nil {
		if err := json.Unmarshal(text, &struct{ Value any }{value}); err != nil {
			w.t.Fatalf("%s: %v", text, err)
		}
	}
}

// run evaluates the body of a function in the page.
func (w *webkit) run(script string, value any) {
	w.t.Helper()
	w.do("POST", "/execute/sync", object{"script": script, "args": []any{}}, value)
}

// shows waits until the page shows text.
func (w *webkit) shows(text string) {
	w.t.Helper()
	eventually.Complete(w.t, patience, func() string {
		var page string
		w.run("return document.body.innerText", &page)
		if !strings.Contains(page, text) {
			return fmt.Sprintf("the page does not show %q but %q", text, page)
		}
		return ""
	})
}

// press clicks the first link or button with a text that begins with name, once it has stopped
// moving: while a page loads, its elements move away from the click.
func (w *webkit) press(name string) {
	w.t.Helper()
	var found map[string]string
	was, still := "", 0
	eventually.Complete(w.t, patience, func() string {
		var at string
		w.run(fmt.Sprintf(`return JSON.stringify([...document.querySelectorAll('a, button')].find((one) =>
			one.innerText.trim().startsWith(%q) && one.checkVisibility())?.getBoundingClientRect() ?? null)`, name), &at)
		if at == "null" {
			return "there is no " + name
		}
		if at != was {
			was, still = at, 0
			return name + " moves"
		}
		if still++; still < 5 {
			return name + " has just moved"
		}
		found = nil
		w.run(fmt.Sprintf(`return [...document.querySelectorAll('a, button')].find((one) =>
			one.innerText.trim().startsWith(%q) && one.checkVisibility()) ?? null`, name), &found)
		if len(found) == 0 {
			return "there is no " + name
		}
		return ""
	})
	for _, id := range found {
		w.do("POST", "/element/"+id+"/click", object{}, nil)
	}
}

// The page must also work in the window's engine, which is not Chromium.
func TestPageWorksInWebKitGTK(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{"demo": demo()}})
	d.running("demo")
	w := startWebkit(t)
	w.do("POST", "/url", object{"url": strings.TrimSpace(d.cli(0, "open", "--print"))}, nil)
	w.shows("Servers running\n1 of 1")
	eventually.True(t, "the event stream is open", func() (open bool) {
		w.run(`return [...document.querySelectorAll('[role=status]')].some((one) => one.innerText.trim() === 'Live')`, &open)
		return open
	})
	w.run(`window.faults = []
		addEventListener('error', (e) => faults.push(e.message))
		addEventListener('unhandledrejection', (e) => faults.push(String(e.reason)))
		document.addEventListener('securitypolicyviolation', (e) => faults.push(e.violatedDirective))`, nil)

	w.press("Calls")
	w.shows("No calls yet")
	d.cli(0, "call", "demo", "echo", `{"text":"seen in WebKit"}`)
	w.shows("echo") // it appeared without a reload
	w.press("demo / echo")
	w.shows("seen in WebKit")
	w.press("Overview")
	w.press("Usage")
	w.shows("Calls and errors")
	w.press("Settings")
	w.press("Configuration file")
	w.press("Edit file")
	w.shows("Discard changes")
	w.press("Servers")
	w.press("demo")
	w.press("Log")
	w.shows("Output")

	var faults []string
	w.run("return window.faults", &faults)
	assert.Truef(t, len(faults) <= 0, "the page has faults: %v", faults)
	d.stop()
	w.shows("Drawbridge is not responding")
}
