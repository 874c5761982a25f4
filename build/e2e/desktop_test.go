//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// display returns the environment variables of the screen, without its home.
func (s *screen) display() (env []string) {
	for _, v := range s.env {
		if !strings.HasPrefix(v, "HOME=") && !strings.HasPrefix(v, "PATH=") {
			env = append(env, v)
		}
	}
	return env
}

// ask sends a request as the user and returns the body of the response.
func (d *daemon) ask(method, route string, in any) string {
	d.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		d.t.Fatal(err)
	}
	code, out := d.do(method, "/api/v1/"+route, bytes.NewReader(body))
	if code/100 != 2 {
		d.t.Fatalf("%s %s: %d %s", method, route, code, out)
	}
	return out
}

// desktopSays waits until the desktop status of the daemon contains a text.
func (d *daemon) desktopSays(want string) {
	d.t.Helper()
	eventually.Complete(d.t, patience, func() string {
		if got := d.ask("GET", "desktop", nil); !strings.Contains(got, want) {
			return got + " lacks " + want
		}
		return ""
	})
}

func (s *screen) waitWindows(want int) {
	s.t.Helper()
	eventually.Complete(s.t, patience, func() string {
		if n := len(s.windows("Drawbridge")); n != want {
			return fmt.Sprintf("%d windows are open, want %d", n, want)
		}
		return ""
	})
}

func needWindow(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(window); err != nil {
		t.Skipf("the window was not built: %v", err)
	}
}

// There is only one window. It comes to the front, opens links, recovers after a restart and after
// its page's process crashed, retains its size, and closes with Quit. Closing it does not affect a
// server.
func TestWindowFollowsItsDaemon(t *testing.T) {
	t.Parallel()
	needWindow(t)
	s := desktop(t)
	d := start(t, object{"mcpServers": object{"demo": demo()}}, s.display()...)
	d.running("demo")
	again := func(args ...string) string {
		return run(t, command(t, append(d.env(), s.display()...), binary, append(args, "--data", d.data)...), 0)
	}
	first := s.command(window)
	first.Env = append(first.Env, "DRAWBRIDGE_WINDOW_URL="+strings.TrimSpace(again("open", "--print")), "DRAWBRIDGE_WINDOW_DATA="+d.data)
	first.Stdout, first.Stderr = d.log, d.log
	s.background(first)
	s.waitWindows(1)
	d.desktopSays(`"window":true`)
	again()
	again("drawbridge://open/calls")
	again("open", "/servers/demo")
	s.waitWindows(1)

	// A link that wants to run a command shows a form, and nothing runs.
	again(`drawbridge://add?name=evil&config={"command":"touch","args":["` + filepath.Join(d.home, "ran") + `"]}`)
	assert.NotContains(t, d.ask("GET", "servers", nil), "evil", "a link adds a server by itself")
	for _, link := range []string{"drawbridge://run?command=x", "drawbridge://open/api"} {
		run(t, command(t, append(d.env(), s.display()...), binary, link, "--data", d.data), 1)
	}

	// All processes that render a page: WebKit also retains one for an earlier page.
	drawers := func() (pids []int) {
		for _, p := range rendererProcesses(d.data) {
			pids = append(pids, p.pid)
		}
		return pids
	}
	// WebKit closes the whole window if one of its processes dies before it has reported its id, so
	// only processes with some age are killed.
	killDrawers := func() {
		t.Helper()
		var before []int
		seen := map[int]time.Time{}
		eventually.Complete(t, patience, func() string {
			before = drawers()
			for _, pid := range before {
				if seen[pid].IsZero() {
					seen[pid] = time.Now()
				}
				if time.Since(seen[pid]) < limit(400*time.Millisecond) {
					return "a process that draws the page has just begun"
				}
			}
			if len(before) == 0 {
				return "no process draws the page"
			}
			return ""
		})
		for _, pid := range before {
			victim, _ := os.FindProcess(pid)
			victim.Kill()
		}
	}
	shown := func(name string) {
		t.Helper()
		eventually.Complete(t, patience, func() string { return s.noPage(name, wholeWindow) })
	}
	killDrawers()
	s.waitWindows(1)
	d.desktopSays(`"window":true`)
	shown("window-revived")

	d.stop()
	d.launch(s.display()...) // at another port
	d.desktopSays(`"window":true`)
	d.running("demo")
	shown("window-after-restart")

	id := s.windows("Drawbridge")[0]
	run(t, s.command("xdotool", "windowsize", "--sync", id, "900", "650"), 0)
	s.closeWindow(d.data)
	d.desktopSays(`"window":false`)
	d.running("demo")
	again()
	s.waitWindows(1)
	eventually.Complete(t, patience, func() string {
		out := run(t, s.command("xdotool", "getwindowgeometry", s.windows("Drawbridge")[0]), 0)
		if !strings.Contains(out, "900x650") {
			return "the window forgot its size: " + out
		}
		return ""
	})
	d.desktopSays(`"window":true`)
	eventually.Complete(t, patience, func() string {
		return s.noPage("window-again", image.Rect(130, 200, 990, 740))
	})
	killDrawers()
	eventually.TrueWithin(t, patience, "nothing draws the page again", func() bool { return len(drawers()) != 0 })
	again("quit")
	s.waitWindows(0)
	select {
	case <-d.done: // the watchdog exits a moment after the daemon, which quit waits for
	case <-time.After(limit(6 * time.Second)):
		t.Error("the daemon outlives quit")
	}
	_, err := os.Stat(filepath.Join(d.home, "ran"))
	assert.Error(t, err, "a link ran a program")
}

// The test uses a real notification server: the crash of a server appears, and disappears with its
// cause; a button of the notification of a held call approves the call.
func TestNotificationsReportPendingApprovals(t *testing.T) {
	t.Parallel()
	const notifyd = "/usr/lib/x86_64-linux-gnu/xfce4/notifyd/xfce4-notifyd"
	found := notifyd
	if _, err := os.Stat(found); err != nil {
		matches, _ := filepath.Glob("/usr/lib/*/xfce4/notifyd/xfce4-notifyd")
		if len(matches) == 0 {
			t.Skip("there is no notification server")
		}
		found = matches[0]
	}
	s := desktop(t)
	s.background(s.command(found))
	eventually.TrueWithin(t, patience, "the notification server does not come up", func() bool {
		var owned bool
		s.bus.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, "org.freedesktop.Notifications").Store(&owned)
		return owned
	})
	asked := with(demo(), object{"approval": "ask"})
	config := object{"mcpServers": object{
		"demo":   demo(),
		"asked":  asked, // from the start: a server that is added later is notified, too
		"broken": object{"command": "sh", "args": []string{"-c", "echo '<b>no</b> key' >&2; exit 3"}, "restart": object{"maxAttempts": 1}},
	}}
	d := start(t, config, s.display()...)
	appears := func() (window string) {
		t.Helper()
		eventually.Complete(t, patience, func() string {
			list := s.windows("xfce4-notifyd")
			if len(list) == 0 {
				s.picture("notification-missing")
				return "no notification is on the screen"
			}
			window = list[0]
			return ""
		})
		return window
	}
	appears()
	s.picture("notification")
	d.write("config.jsonc", object{"mcpServers": object{"demo": demo(), "asked": asked}})
	eventually.TrueWithin(t, patience, "the notification outlives its cause", func() bool { return len(s.windows("xfce4-notifyd")) == 0 })
	d.running("demo", "asked")
	client := &rawClient{t: t, url: d.url + "/mcp", token: d.token("held"), modern: true}
	done := make(chan string, 1)
	go func() {
		var reply string
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asked__echo","arguments":{"text":"seen"},` + modernMeta + `}}`
		if err := client.stream(t.Context(), "asked__echo", body, func(message string) { reply = message }); err != nil {
			reply = err.Error()
		}
		done <- reply
	}()
	window := appears()
	s.picture("notification-call")
	eventually.Complete(t, patience, func() string {
		select {
		case reply := <-done:
			assert.Contains(t, reply, `"text":"seen"`, "the approved call ended")
			return ""
		default:
		}
		// The buttons are equally wide and at the bottom right: Show, Allow once, Deny.
		var x, y, width, height int
		geometry, _ := s.command("xdotool", "getwindowgeometry", "--shell", window).Output()
		fmt.Sscanf(string(geometry), "WINDOW="+window+"\nX=%d\nY=%d\nWIDTH=%d\nHEIGHT=%d", &x, &y, &width, &height)
		s.command("xdotool", "mousemove", strconv.Itoa(x+width-153), strconv.Itoa(y+height-31), "click", "1").Run()
		return "the button does not end the call, in the window " + string(geometry)
	})
}

// Without a bus, a tray, a display or the window's program nothing crashes, and the program never
// starts without showing anything.
func TestDesktopWithoutServices(t *testing.T) {
	t.Parallel()
	t.Run("no display", func(t *testing.T) {
		d := start(t, object{})
		out := run(t, command(t, d.env(), binary, "--data", d.data), 0)
		assert.Contains(t, out, d.url+"/#code=", "it prints")
		d.desktopSays(`"trayProblem":"there is no session bus"`)
	})
	t.Run("no bus", func(t *testing.T) {
		needWindow(t)
		s := desktop(t)
		var env []string
		for _, v := range s.display() {
			if !strings.HasPrefix(v, "DBUS_SESSION") {
				env = append(env, v)
			}
		}
		env = append(env, "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent/bus")
		d := start(t, object{}, env...)
		run(t, command(t, append(d.env(), env...), binary, "--data", d.data), 0)
		s.waitWindows(1)
		d.desktopSays(`"tray":false,"trayProblem":"there is no session bus"`)
		assert.Contains(t, d.ask("GET", "status", nil), "No tray icon is shown", "no notice says why")
		run(t, command(t, append(d.env(), env...), binary, "quit", "--data", d.data), 0)
	})
	t.Run("no tray host", func(t *testing.T) {
		needWindow(t)
		s := desktop(t)
		bus := s.command("dbus-daemon", "--session", "--nofork", "--print-address=1")
		printed, err := bus.StdoutPipe()
		require.NoError(t, err)
		s.background(bus)
		address, err := bufio.NewReader(printed).ReadString('\n')
		require.NoError(t, err)
		var env []string
		for _, v := range s.display() {
			if !strings.HasPrefix(v, "DBUS_SESSION") {
				env = append(env, v)
			}
		}
		env = append(env, "DBUS_SESSION_BUS_ADDRESS="+strings.TrimSpace(address))
		d := start(t, object{}, env...)
		run(t, command(t, append(d.env(), env...), binary, "--data", d.data), 0)
		s.waitWindows(1)
		d.desktopSays(`"tray":false,"trayProblem":"the desktop does not support tray icons"`)
		run(t, command(t, append(d.env(), env...), binary, "quit", "--data", d.data), 0)
	})
	// alone returns the program without its window, and a browser that records the addresses that
	// it opens.
	alone := func(t *testing.T) (program, path string, opens func(d *daemon)) {
		program, tools := filepath.Join(t.TempDir(), "drawbridge"), t.TempDir()
		run(t, exec.Command("cp", binary, program), 0)
		opened := filepath.Join(tools, "opened")
		putProgram(t, filepath.Join(tools, "xdg-open"), ledTo+"ledTo \"$1\" >"+strconv.Quote(opened+".new")+"\nmv "+strconv.Quote(opened+".new")+" "+strconv.Quote(opened)+"\n")
		return program, "PATH=" + tools + ":/usr/bin:/bin", func(d *daemon) {
			t.Helper()
			eventually.Complete(t, patience, func() string {
				got, err := os.ReadFile(opened)
				if err != nil || !strings.HasPrefix(string(got), d.url+"/#code=") {
					return fmt.Sprintf("the browser is asked for %q (%v)", got, err)
				}
				return ""
			})
		}
	}
	t.Run("no window program", func(t *testing.T) {
		d := start(t, object{})
		program, path, opens := alone(t)
		run(t, command(t, append(d.env(), "DISPLAY=:9999", path), program, "--data", d.data), 0)
		opens(d)
	})
	t.Run("no library of the window", func(t *testing.T) {
		d := start(t, object{})
		program, path, opens := alone(t)
		// The output of the dynamic loader if a library is missing.
		putProgram(t, filepath.Join(filepath.Dir(program), "drawbridge-window"), "echo 'error while loading shared libraries: libwebkit2gtk-4.1.so.0' >&2\nexit 127\n")
		out := run(t, command(t, append(d.env(), "DISPLAY=:9999", path), program, "--data", d.data), 0)
		opens(d)
		assert.Contains(t, out, "Cannot show the window", "it does not say why the browser opens")
		assert.Contains(t, out, "/#code=", "it does not say why the browser opens")
	})
	t.Run("a display that is gone", func(t *testing.T) {
		needWindow(t)
		d := start(t, object{})
		program, path, opens := alone(t)
		run(t, exec.Command("cp", window, filepath.Dir(program)), 0)
		run(t, command(t, append(d.env(), "DISPLAY=:9999", path), program, "--data", d.data), 0)
		opens(d)
	})
}

// Start at login is off by default, and enabling it writes a valid entry.
func TestStartAtLoginIsOptIn(t *testing.T) {
	t.Parallel()
	d := start(t, object{})
	entries := func() []string {
		list, _ := filepath.Glob(filepath.Join(d.home, ".config/autostart/*.desktop"))
		return list
	}
	got := d.ask("GET", "desktop", nil)
	require.Truef(t, strings.Contains(got, `"startAtLogin":false`) && len(entries()) == 0, "on by itself: %s", got)
	if got := d.ask("PUT", "desktop", object{"startAtLogin": true}); !strings.Contains(got, `"startAtLogin":true`) || len(entries()) != 1 {
		t.Fatalf("%s %v", got, entries())
	}
	run(t, exec.Command("desktop-file-validate", entries()[0]), 0)
	if got := d.ask("PUT", "desktop", object{"startAtLogin": false}); !strings.Contains(got, `"startAtLogin":false`) || len(entries()) != 0 {
		t.Fatalf("%s %v", got, entries())
	}
}
