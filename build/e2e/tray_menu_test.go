//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"image"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/app/tray"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
)

// The test clicks the entries that are not about one server in the menu of the real program:
// address, start at login, recording, profiles, a client to connect, a log.
func TestTrayMenuActions(t *testing.T) {
	t.Parallel()
	needWindow(t)
	s := desktop(t)
	tools := t.TempDir()
	copied := filepath.Join(tools, "copied")
	putProgram(t, filepath.Join(tools, "wl-copy"), "cat >"+copied+".new && mv "+copied+".new "+copied+"\n")
	d := start(t, object{"mcpServers": object{"demo": demo(), "files": demo(), "asked": with(demo(), object{"approval": "ask"})},
		"profiles": object{"office": object{"servers": object{"demo": object{}}}}}, append(s.display(), "PATH="+tools+":"+os.Getenv("PATH"))...)
	d.running("demo", "files", "asked")
	var pid int
	menu := func() (list []entry) {
		for _, p := range descendants(d.cmd.Process.Pid) {
			if list = s.menu(p.pid); len(list) > 0 {
				pid = p.pid
				return list
			}
		}
		return nil
	}
	choose := func(label string) {
		t.Helper()
		eventually.Complete(t, patience, func() string {
			e, ok := named(menu(), label)
			if !ok {
				return fmt.Sprintf("there is no %q in %q", label, labels(menu()))
			}
			s.click(pid, e.id)
			return ""
		})
	}
	becomes := func(what string, done func() bool) {
		t.Helper()
		eventually.Complete(t, patience, func() string {
			if !done() {
				return what
			}
			return ""
		})
	}

	choose("Copy bridge URL")
	becomes("the address is not copied", func() bool {
		got, _ := os.ReadFile(copied)
		return string(got) == d.url+"/mcp"
	})

	autostart := func() int {
		list, _ := filepath.Glob(filepath.Join(d.home, ".config/autostart/*.desktop"))
		return len(list)
	}
	choose("Start at login")
	becomes("it does not start at login", func() bool { return autostart() == 1 })
	choose("Start at login")
	becomes("it still starts at login", func() bool { return autostart() == 0 })

	choose("Pause recording")
	becomes("the menu does not offer to resume", func() bool { _, ok := named(menu(), "Resume recording"); return ok })
	d.cli(0, "call", "demo", "echo", `{"text":"not kept"}`)
	assert.Empty(t, d.calls())
	choose("Resume recording")
	becomes("the menu does not offer to pause", func() bool { _, ok := named(menu(), "Pause recording"); return ok })

	d.cli(0, "call", "demo", "echo", `{"text":"recent"}`)
	becomes("the menu does not list the call", func() bool {
		recent, ok := named(menu(), "Recent calls")
		return ok && slices.ContainsFunc(recent.under, func(e entry) bool { return strings.HasPrefix(e.label, "✓ demo › echo, ") })
	})
	client := &rawClient{t: t, url: d.url + "/mcp", token: d.token("tray"), modern: true}
	listed := func() string {
		return client.post("tools/list", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`)
	}
	// The menu shows a client after its first call.
	client.post("tools/call", "demo__echo", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"x"},`+modernMeta+`}}`)
	assign := func(profile, label string) {
		t.Helper()
		eventually.Complete(t, patience, func() string {
			top, _ := named(menu(), "Profiles")
			for _, e := range top.under {
				if e.label == label {
					return ""
				}
				if choice, ok := named(e.under, profile); ok && strings.HasPrefix(e.label, "tray: ") {
					s.click(pid, choice.id)
				}
			}
			return fmt.Sprintf("the menu does not say %q but %q", label, labels(top.under))
		})
	}
	assign("office", "tray: office")
	if list := listed(); !strings.Contains(list, `"demo__echo"`) || strings.Contains(list, `"files__echo"`) {
		t.Errorf("in the profile, the client sees %s", tail(list))
	}
	assign("No profile", "tray: no profile")
	assert.Contains(t, listed(), `"files__echo"`, "without a profile, the client sees")
	for _, answer := range []string{"Allow once", "Deny"} {
		arguments := `{"text":"held: ` + answer + `"}`
		done := make(chan string, 1)
		go func() {
			var reply string
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asked__echo","arguments":` + arguments + `,` + modernMeta + `}}`
			if err := client.stream(t.Context(), "asked__echo", body, func(message string) { reply = message }); err != nil {
				reply = err.Error()
			}
			done <- reply
		}()
		becomes("the menu does not show the held call", func() bool {
			select {
			case out := <-done:
				t.Fatalf("the call is not held, but ended with %s", out)
			default:
			}
			return slices.ContainsFunc(menu(), func(e entry) bool {
				line, ok := named(e.under, arguments)
				return ok && strings.HasPrefix(e.label, "Approve? asked › echo") && !line.enabled
			})
		})
		time.Sleep(tray.MinShownBeforeAnswer) // the promise: an entry that has just changed answers nothing
		choose(answer)
		select {
		case out := <-done:
			approved := !strings.Contains(out, `"isError":true`)
			assert.Equal(t, answer == "Allow once", approved, out)
		case <-time.After(patience):
			t.Fatalf("%s does not end the call", answer)
		}
	}

	choose("Pause for an hour")
	becomes("the menu does not say when the pause ends", func() bool {
		list := menu()
		return len(list) > 0 && strings.HasPrefix(list[0].label, "All servers are paused until ")
	})
	choose("Resume all servers")
	becomes("the servers do not run again", func() bool { _, ok := named(menu(), "Pause for an hour"); return ok })

	choose("Connect a client…")
	s.waitWindows(1)
	d.desktopSays(`"window":true`)
	eventually.Complete(t, patience, func() string {
		if n := colours(s.picture("tray-connect"), image.Rect(340, 130, 1280, 900)); n < 12 {
			return fmt.Sprintf("the page has %d colours", n)
		}
		return ""
	})
	showLog := func() {
		t.Helper()
		for _, e := range menu() {
			if strings.Contains(e.label, "demo: ") {
				log, ok := named(e.under, "Show log")
				if !ok {
					t.Fatalf("a server's entries are %q", labels(e.under))
				}
				s.click(pid, log.id)
			}
		}
	}
	told, leave := d.asWindow()
	showLog()
	got := eventually.Receive(t, patience, "Show log tells the window nothing", told)
	assert.Equal(t, `{"command":"focus","to":"/servers/demo?view=log"}`, got, "Show log tells the window")
	leave()
	s.waitWindows(1)
	choose("Quit Drawbridge")
	eventually.Receive(t, limit(6*time.Second), "Quit does not end the program", d.done)
	s.waitWindows(0)
}

// asWindow follows the daemon as its newest window, which receives the commands.
func (d *daemon) asWindow() (told <-chan string, leave func()) {
	d.t.Helper()
	resp, err := http.DefaultClient.Do(d.request("GET", "/api/v1/window", nil))
	if err != nil {
		d.t.Fatal(err)
	}
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() { // connected
		d.t.Fatalf("a window cannot follow: %d %v", resp.StatusCode, lines.Err())
	}
	commands := make(chan string, 8)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines.Scan() {
			if command, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				commands <- command
			}
		}
	}()
	return commands, func() { resp.Body.Close(); <-ended }
}
