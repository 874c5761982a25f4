//go:build windows && e2e

package windows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/app/tray"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/build/icons"
)

const trayPatience = 30 * time.Second

// iconPlace is the place of the icon in the notification area, or empty.
func (d desk) iconPlace() (place image.Rectangle) {
	areas, _ := d.windows(0, "Shell_TrayWnd")
	for _, area := range areas {
		const invalidate, erase, children, now = 1, 4, 0x80, 0x100
		if _, places := d.windows(area, "__wine_tray_icon"); len(places) > 0 {
			user("RedrawWindow", area, 0, 0, invalidate|erase|children|now) // Wine draws an icon over the one before
			return places[0]
		}
	}
	return place
}

// icon returns the state that the icon shows.
func (d desk) icon() (state string) {
	place := d.iconPlace()
	if place.Empty() {
		return "none"
	}
	const size = 16
	seen := d.look(image.Rectangle{Max: image.Pt(size, size)}.Add(place.Min.Add(place.Size().Sub(image.Pt(size, size)).Div(2))))
	best := math.Inf(1)
	for _, candidate := range []tray.Icon{tray.IconOK, tray.IconAttention, tray.IconError, tray.IconPaused} {
		want, err := png.Decode(bytes.NewReader(icons.TrayPNG(string(candidate))))
		if err != nil {
			d.Fatal(err)
		}
		painted := image.NewRGBA(want.Bounds())
		draw.Draw(painted, painted.Rect, image.NewUniform(seen.At(0, 0)), image.Point{}, draw.Src)
		draw.Draw(painted, painted.Rect, want, image.Point{}, draw.Over)
		if distance := differenceOf(seen, painted); distance < best {
			best, state = distance, string(candidate)
		}
	}
	return state
}

// differenceOf compares a picture with a larger one.
func differenceOf(small, large *image.RGBA) (sum float64) {
	scale := large.Rect.Dx() / small.Rect.Dx()
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			for c := range 3 {
				var mean float64
				for i := range scale * scale {
					mean += float64(large.Pix[large.PixOffset(x*scale+i%scale, y*scale+i/scale)+c])
				}
				sum += math.Abs(mean/float64(scale*scale) - float64(small.Pix[small.PixOffset(x, y)+c]))
			}
		}
	}
	return sum
}

// open opens the menu of the icon and returns its entries, once there are so many. An open menu gets none.
func (d desk) open(entries int) (list []image.Point) {
	d.Helper()
	eventually.Complete(d, trayPatience, func() string {
		d.click(d.iconPlace().Min.Add(image.Pt(8, 8)), true)
		if list = d.menu(0); len(list) != entries {
			return d.closeAfter(fmt.Sprintf("the menu has %d entries, not %d", len(list), entries))
		}
		return ""
	})
	return list
}

// openBelow opens the menu below an entry and returns its entries, once there are so many.
func (d desk) openBelow(entry, entries, below int) (list []image.Point) {
	d.Helper()
	eventually.Complete(d, trayPatience, func() string {
		d.click(d.open(entries)[entry], false)
		if list = d.menu(1); len(list) != below {
			return d.closeAfter(fmt.Sprintf("the menu below the entry has %d entries, not %d", len(list), below))
		}
		return ""
	})
	return list
}

// menu returns the entries of the menu at a depth once it is drawn, or nil.
func (d desk) menu(depth int) []image.Point {
	var before []image.Point
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		_, menus := d.menus()
		if len(menus) != depth+1 {
			continue
		}
		user("SetCursorPos", 1000, 700) // away from the menu, so that no entry is highlighted
		slices.SortFunc(menus, func(a, b image.Rectangle) int { return a.Min.X - b.Min.X })
		list := d.entries(menus[depth])
		if len(list) > 0 && slices.Equal(list, before) {
			return list
		}
		before = list
	}
	return nil
}

func (d desk) closeAfter(problem string) string {
	d.Helper()
	d.keep("unexpected")
	d.close()
	return problem
}

// menus returns the menus on the desktop.
func (d desk) menus() (handles []uintptr, places []image.Rectangle) {
	all, where := d.windows(0, "#32768")
	for i, handle := range all {
		if !d.stale[handle] {
			handles, places = append(handles, handle), append(places, where[i])
		}
	}
	return handles, places
}

// close closes the menus. Wine leaves the window of one that changed while it was open.
func (d desk) close() {
	d.Helper()
	for end := time.Now().Add(3 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left, _ := d.menus()
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			for _, handle := range left {
				d.stale[handle] = true
			}
		}
		d.click(image.Pt(1000, 700), false)
	}
}

// The icon and the menu on a desktop: their pictures in each state, and clicks.
func TestTrayShowsEachStateAndObeysClicks(t *testing.T) {
	m := newMachine(t)
	program, err := filepath.Abs(m.program("drawbridge.exe"))
	if err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	config, err := json.Marshal(object{"mcpServers": object{
		"demo":   object{"command": program, "args": []string{"demo-server"}},
		"asked":  object{"command": program, "args": []string{"demo-server"}, "approval": "ask"},
		"broken": object{"command": program, "args": []string{"no-command"}, "disabled": true, "restart": object{"maxAttempts": 1}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	m.addConfig(string(config))
	shell := exec.Command("explorer", "/desktop="+deskName+",1280x800", m.program("drawbridgew.exe"), "serve", "--data", m.data, "--listen", "127.0.0.1:0")
	shell.Env = append(m.environment(), "DISPLAY="+os.Getenv("DISPLAY"))
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.run("", "quit")
		_ = shell.Process.Kill()
		_ = shell.Wait()
	})
	m.awaitDaemon() // the explorer starts it after its desktop; who joins before that makes Wine start a second explorer
	d := newDesk(t)
	shows := func(state tray.Icon) {
		t.Helper()
		defer d.keep("icon-" + string(state))
		eventually.Complete(t, trayPatience, func() string {
			if is := d.icon(); is != string(state) {
				d.keep("unexpected")
				return fmt.Sprintf("the icon shows %s instead of %s", is, state)
			}
			return ""
		})
	}
	answers := func(path, part string) {
		t.Helper()
		eventually.TrueWithin(t, trayPatience, path+" answers "+part, func() bool { return strings.Contains(m.ask("GET", path, ""), part) })
	}
	const desktop, history, servers = "/api/v1/desktop", "/api/v1/history", "/api/v1/servers"

	eventually.TrueWithin(t, trayPatience, "two servers run", func() bool { return strings.Count(m.ask("GET", servers, ""), `"state":"running"`) == 2 })
	shows(tray.IconOK)
	// From the end: Quit, Start at login, Connect, Copy, Pause recording, Pause for an hour, Pause all.
	const atRest = 2 + 3 + 7
	list := d.open(atRest)
	d.keep("running")
	d.click(list[atRest-5], false)
	answers(history, `"paused":true`)
	d.click(d.open(atRest)[atRest-5], false)
	answers(history, `"paused":false`)

	d.click(d.open(atRest)[atRest-2], false)
	answers(desktop, `"startAtLogin":true`)
	list = d.open(atRest)
	d.keep("start-at-login")
	d.click(list[atRest-2], false)
	answers(desktop, `"startAtLogin":false`)

	list = d.openBelow(4, atRest, 5) // asked, broken, demo
	d.keep("server")
	d.click(list[1], false)
	answers(servers, `"state":"stopped"`)
	list = d.openBelow(4, atRest, 6) // with the reason
	d.keep("stopped")
	d.click(list[1], false)
	eventually.TrueWithin(t, trayPatience, "the server runs again", func() bool { return !strings.Contains(m.ask("GET", servers, ""), `"state":"stopped"`) })

	m.must("enable", "broken")
	shows(tray.IconError)
	d.open(atRest)
	d.keep("failed")
	d.close()
	m.must("disable", "broken")
	shows(tray.IconOK)

	// A window. There are no notifications, so that calls wait for it only.
	told := m.stream("/api/v1/window")
	m.stream("/api/v1/events")
	d.click(d.open(atRest)[1], false)
	if got := eventually.Receive(t, trayPatience, "Open Drawbridge tells the window nothing", told); !strings.Contains(got, "focus") {
		t.Error(got)
	}

	answer, end := m.holdCall()
	defer end()
	shows(tray.IconAttention)
	time.Sleep(tray.MinShownBeforeAnswer) // the promise: an entry that has just changed answers nothing
	list = d.openBelow(2, atRest+2, 4)
	d.keep("waiting")
	d.click(list[1], false)
	if got := eventually.Receive(t, trayPatience, "Allow once does not end the call", answer); !strings.Contains(got, "held") || strings.Contains(got, "isError\":true") {
		t.Error(got)
	}
	shows(tray.IconOK)

	d.click(d.open(atRest + 1)[atRest+1-7], false)
	answers(desktop, `"paused":true`)
	shows(tray.IconPaused)
	list = d.open(atRest)
	d.keep("paused")
	d.click(list[atRest-6], false)
	answers(desktop, `"paused":false`)
	shows(tray.IconOK)

	d.click(d.open(atRest + 1)[atRest], false)
	eventually.TrueWithin(t, trayPatience, "Quit ends the program", func() bool {
		_, err := os.Stat(filepath.Join(m.data, "runtime.json"))
		return os.IsNotExist(err)
	})
}

// holdCall makes a call that waits for approval. The channel receives its answer.
func (m *machine) holdCall() (answer <-chan string, end func()) {
	m.Helper()
	client := exec.Command(m.program("drawbridge.exe"), "--data", m.data, "stdio", "--client", "t", "--server", "asked")
	client.Env = m.environment()
	in, err := client.StdinPipe()
	if err != nil {
		m.Fatal(err)
	}
	out, err := client.StdoutPipe()
	if err != nil {
		m.Fatal(err)
	}
	if err := client.Start(); err != nil {
		m.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"held"}}}
`); err != nil {
		m.Fatal(err)
	}
	answers, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.Contains(lines.Text(), `"id":2`) {
				answers <- lines.Text()
			}
		}
	}()
	return answers, func() {
		in.Close()
		<-ended
		_ = client.Wait()
	}
}
