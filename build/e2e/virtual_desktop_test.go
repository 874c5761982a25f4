//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// patience is how long a test waits for what the programs of a desktop or a browser engine do. They
// promise no time: with thirty times the work of the machine, a panel opens a menu after 25 s.
const patience = 3 * time.Minute

// screen is a virtual desktop: an X server, a session bus, a window manager and a panel with a
// tray.
type screen struct {
	t    testing.TB
	env  []string
	home string
	bus  *dbus.Conn

	pictured sync.Once // takes the screenshot of a failure while all programs still run
}

const panelConfig = `<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="length" type="uint" value="100"/>
      <property name="size" type="uint" value="36"/>
      <property name="plugin-ids" type="array"><value type="int" value="1"/></property>
    </property>
  </property>
  <property name="plugins" type="empty">
    <property name="plugin-1" type="string" value="systray"><property name="square-icons" type="bool" value="true"/></property>
  </property>
</channel>
`

func desktop(t testing.TB) *screen {
	t.Helper()
	for _, need := range []string{"Xvfb", "dbus-daemon", "openbox", "xfce4-panel", "xdotool", "xprop", "import"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("no screen to test on: %v", err)
		}
	}
	s := &screen{t: t, home: t.TempDir()}
	runtime := t.TempDir()
	require.NoError(t, os.Chmod(runtime, 0o700))
	s.env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + s.home, "SHELL=/bin/sh",
		"XDG_RUNTIME_DIR=" + runtime, "XDG_CURRENT_DESKTOP=XFCE", "NO_AT_BRIDGE=1", "GTK_THEME=Adwaita"}

	read, write, err := os.Pipe()
	require.NoError(t, err)
	// Without -noreset the server resets whenever its last client disconnects.
	x := s.command("Xvfb", "-displayfd", "3", "-screen", "0", "1400x1000x24", "-nolisten", "tcp", "-noreset")
	x.ExtraFiles = []*os.File{write}
	s.background(x)
	write.Close()
	number, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err, "Xvfb does not start")
	s.env = append(s.env, "DISPLAY=:"+strings.TrimSpace(number))

	bus := s.command("dbus-daemon", "--session", "--nofork", "--print-address=1")
	printed, err := bus.StdoutPipe()
	require.NoError(t, err)
	s.background(bus)
	address, err := bufio.NewReader(printed).ReadString('\n')
	require.NoError(t, err, "dbus-daemon does not start")
	address = strings.TrimSpace(address)
	s.env = append(s.env, "DBUS_SESSION_BUS_ADDRESS="+address)
	if s.bus, err = dbus.Connect(address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.bus.Close() })

	config := filepath.Join(s.home, ".config/xfce4/xfconf/xfce-perchannel-xml")
	require.NoError(t, os.MkdirAll(config, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(config, "xfce4-panel.xml"), []byte(panelConfig), 0o644))
	s.background(s.command("openbox"))
	s.background(s.command("xfce4-panel", "--disable-wm-check"))
	eventually.Complete(t, patience, func() string {
		out, err := s.command("xprop", "-root", "_NET_SUPPORTING_WM_CHECK").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "window id") {
			return fmt.Sprintf("the window manager does not start: %s", out)
		}
		return ""
	})
	eventually.TrueWithin(t, patience, "the panel shows no tray", func() bool {
		var owned bool
		s.bus.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, "org.kde.StatusNotifierWatcher").Store(&owned)
		return owned
	})
	return s
}

func (s *screen) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append([]string{}, s.env...)
	cmd.Dir = s.home
	return cmd
}

// background runs cmd until the end of the test, and logs its output if the test fails.
func (s *screen) background(cmd *exec.Cmd) {
	s.t.Helper()
	log := ""
	if cmd.Stderr == nil {
		f, err := os.CreateTemp(s.t.TempDir(), "stderr")
		if err != nil {
			s.t.Fatal(err)
		}
		defer f.Close()
		cmd.Stderr, log = f, f.Name() // a file, because a window's web processes hold it open, too
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		s.logOnFailure(cmd, log)
		family := descendants(cmd.Process.Pid)
		cmd.Process.Kill()
		cmd.Wait()
		for _, p := range family {
			if alive([]process{p}) != "" {
				if left, err := os.FindProcess(p.pid); err == nil {
					left.Kill()
				}
			}
		}
	})
}

// picture saves a screenshot as output/name.png.
func (s *screen) picture(name string) image.Image {
	s.t.Helper()
	path := filepath.Join(output, name+".png")
	run(s.t, s.command("import", "-window", "root", path), 0)
	f, err := os.Open(path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		s.t.Fatal(err)
	}
	return img
}

// find returns the centre and the number of all pixels in area with a similar colour.
func find(img image.Image, area image.Rectangle, r, g, b int) (middle image.Point, count int) {
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			pr, pg, pb, _ := img.At(x, y).RGBA()
			if near(pr, r) && near(pg, g) && near(pb, b) {
				middle = middle.Add(image.Pt(x, y))
				count++
			}
		}
	}
	if count > 0 {
		middle = middle.Div(count)
	}
	return middle, count
}

func near(got uint32, want int) bool {
	d := int(got>>8) - want
	return d > -24 && d < 24
}

// wholeWindow is an area within a window of its first size, below the notifications.
var wholeWindow = image.Rect(130, 200, 1270, 900)

// noPage reports why a picture does not show the daemon's page, or "". An error, or a window
// without a page, has no navigation at the left; another window has no light background.
func (s *screen) noPage(name string, area image.Rectangle) string {
	s.t.Helper()
	img := s.picture(name)
	if _, n := find(img, area, 0xf6, 0xf5, 0xf2); n < area.Dx()*area.Dy()*6/10 {
		return fmt.Sprintf("%s: only %d pixels are of the page's canvas", name, n)
	}
	left := area
	left.Max.X = left.Min.X + 170
	if n := colours(img, left); n < 12 {
		return fmt.Sprintf("%s: the navigation has %d colours", name, n)
	}
	return ""
}

// windows lists the windows with the title name.
func (s *screen) windows(name string) []string {
	out, _ := s.command("xdotool", "search", "--onlyvisible", "--name", "^"+name+"$").Output()
	return strings.Fields(string(out))
}

// entry is an item of a tray menu.
type entry struct {
	id      int32
	label   string
	enabled bool
	under   []entry
}

// menu reads the menu of the tray icon of process pid.
func (s *screen) menu(pid int) (list []entry) {
	type layout struct {
		ID         int32
		Properties map[string]dbus.Variant
		Children   []dbus.Variant
	}
	item := s.bus.Object(fmt.Sprintf("org.kde.StatusNotifierItem-%d-1", pid), "/StatusNotifierItem/menu")
	var revision uint32
	var root layout
	if err := item.Call("com.canonical.dbusmenu.GetLayout", 0, int32(0), int32(-1), []string{}).Store(&revision, &root); err != nil {
		return nil
	}
	var convert func(l layout) []entry
	convert = func(l layout) (list []entry) {
		for _, v := range l.Children {
			var child layout
			if err := dbus.Store([]any{v.Value()}, &child); err != nil {
				s.t.Fatal(err)
			}
			if visible, ok := child.Properties["visible"]; ok && visible.Value() == false {
				continue
			}
			e := entry{id: child.ID, enabled: true, under: convert(child)}
			e.label, _ = child.Properties["label"].Value().(string)
			if on, ok := child.Properties["enabled"].Value().(bool); ok {
				e.enabled = on
			}
			if e.label != "" {
				list = append(list, e)
			}
		}
		return list
	}
	return convert(root)
}

// click does what a panel does if the user selects the entry with the id.
func (s *screen) click(pid int, id int32) {
	s.t.Helper()
	item := s.bus.Object(fmt.Sprintf("org.kde.StatusNotifierItem-%d-1", pid), "/StatusNotifierItem/menu")
	if err := item.Call("com.canonical.dbusmenu.Event", 0, id, "clicked", dbus.MakeVariant(int32(0)), uint32(0)).Err; err != nil {
		s.t.Fatal(err)
	}
}

func labels(list []entry) (text []string) {
	for _, e := range list {
		text = append(text, e.label)
	}
	return text
}

// named finds an entry by its label anywhere in the menu.
func named(list []entry, label string) (entry, bool) {
	for _, e := range list {
		if e.label == label {
			return e, true
		}
		if e, ok := named(e.under, label); ok {
			return e, true
		}
	}
	return entry{}, false
}
