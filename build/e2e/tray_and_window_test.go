//go:build e2e

package e2e

import (
	"fmt"
	"image"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
)

// The test checks what the user sees: an icon, its menu, and the window that it opens.
func TestProgramWithDisplay(t *testing.T) {
	t.Parallel()
	needWindow(t)
	s := desktop(t)
	d := start(t, object{"mcpServers": object{"demo": demo(), "broken": object{"command": "no-such-program-anywhere"}}}, s.display()...)
	d.running("demo")

	// The icon belongs to the daemon, which may be a child of the process that we started.
	var pid int
	var menu []entry
	var line, stop entry
	eventually.Complete(t, patience, func() string {
		for _, p := range descendants(d.cmd.Process.Pid) {
			if menu = s.menu(p.pid); len(menu) > 0 {
				pid = p.pid
				break
			}
		}
		if got := strings.Join(labels(menu), "|"); !strings.Contains(got, "● demo: running") {
			return "the tray's menu is " + got
		}
		line = menu[slices.IndexFunc(menu, func(e entry) bool { return strings.Contains(e.label, "demo: ") })]
		var ok bool
		if stop, ok = named(line.under, "Stop"); !ok { // the entries of a submenu come after it
			return fmt.Sprintf("no Stop in %q", labels(line.under))
		}
		return ""
	})
	if !slices.ContainsFunc(menu, func(e entry) bool { return strings.Contains(e.label, "broken: ") }) {
		t.Errorf("the broken server is not in the menu %q", labels(menu))
	}

	s.click(pid, stop.id)
	eventually.Complete(t, patience, func() string {
		if got := strings.Join(labels(s.menu(pid)), "|"); !strings.Contains(got, "○ demo: stopped") {
			return "after Stop the menu is " + got
		}
		return ""
	})
	begin, _ := named(line.under, "Start")
	s.click(pid, begin.id)
	d.running("demo")

	opener, _ := named(menu, "Open Drawbridge")
	s.click(pid, opener.id)
	s.waitWindows(1)
	run(t, command(t, d.env(), binary, "call", "demo", "echo", `{"text":"seen in the window"}`, "--data", d.data), 0)
	eventually.Complete(t, patience, func() string {
		return s.noPage("program-window", wholeWindow)
	})

	quit, _ := named(menu, "Quit Drawbridge")
	s.click(pid, quit.id)
	eventually.Receive(t, limit(6*time.Second), "Quit does not end the program", d.done)
	assert.Equal(t, 0, d.cmd.ProcessState.ExitCode(), "Quit: exit")
	s.picture("program-after-quit")
}

func colours(img image.Image, area image.Rectangle) int {
	seen := map[[3]uint32]bool{}
	for y := area.Min.Y; y < area.Max.Y; y += 2 {
		for x := area.Min.X; x < area.Max.X; x += 2 {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r >> 8, g >> 8, b >> 8}] = true
		}
	}
	return len(seen)
}
