//go:build e2e

package e2e

import (
	"fmt"
	"image"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pss returns the proportional set size of processes in MB, which counts shared memory in part.
func pss(t testing.TB, family []process) (sum float64) {
	t.Helper()
	for _, p := range family {
		sum += float64(p.memory(t, "smaps_rollup", "Pss")) / (1 << 20)
	}
	return sum
}

// The test checks the memory of daemon and watchdog, idle and with the icon, twenty servers that
// wait for a first call, and no window. Then it opens the window, which must appear within a
// second, and records the memory of all processes.
func TestIdleMemoryAndWindowMemory(t *testing.T) {
	const mostIdle = 28 // MB
	needWindow(t)
	s := desktop(t)
	servers := object{}
	for i := range 20 {
		one := demo()
		one["start"] = "onDemand"
		servers[fmt.Sprintf("server-%02d", i)] = one
	}
	d := start(t, object{"mcpServers": servers}, s.display()...)
	eventually.Complete(t, limit(20*time.Second), func() string { // a server that has never been listed is started once for that
		known := map[string]bool{}
		for _, tool := range d.tools() {
			known[strings.Fields(tool)[0]] = true
		}
		if len(known) < len(servers) {
			return fmt.Sprintf("the tools of %d servers are known", len(known))
		}
		return ""
	})
	d.stop()
	d.launch(s.display()...)
	d.desktopSays(`"tray":true`)

	// Memory is released once, a few seconds after the start.
	var family []process
	var idle float64
	eventually.Complete(t, limit(20*time.Second), func() string {
		if family = descendants(d.cmd.Process.Pid); len(family) != 2 {
			return fmt.Sprintf("%v run while nothing was called, want daemon and watchdog", family)
		}
		if idle = pss(t, family); idle > mostIdle {
			return fmt.Sprintf("idle: %.1f MB PSS of daemon, tray and watchdog, at most %d", idle, mostIdle)
		}
		return ""
	})

	// The start of one command, the window's program and its web processes.
	began := time.Now()
	opened := command(t, append(d.env(), s.display()...), binary, "--data", d.data)
	require.NoError(t, opened.Start())
	var shown time.Duration
	eventually.Complete(t, limit(time.Second), func() string {
		if len(s.windows("Drawbridge")) == 0 {
			return "no window is on the screen"
		}
		shown = time.Since(began)
		return ""
	})
	require.NoError(t, opened.Wait())
	eventually.Complete(t, limit(10*time.Second), func() string {
		if n := colours(s.picture("memory-window"), image.Rect(340, 130, 1280, 900)); n < 12 {
			return fmt.Sprintf("the page has %d colours", n)
		}
		return ""
	})
	painted := time.Since(began)
	var inDaemon, inWindow []process
	eventually.Complete(t, limit(5*time.Second), func() string {
		inDaemon, inWindow = nil, nil
		for _, p := range descendants(1) {
			env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
			exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid))
			switch {
			case slices.ContainsFunc(family, func(f process) bool { return f.pid == p.pid }):
				inDaemon = append(inDaemon, p)
			case strings.Contains(string(env), d.data) && (exe == window || strings.Contains(exe, "WebKit")):
				inWindow = append(inWindow, p)
			}
		}
		if len(inWindow) < 3 {
			return fmt.Sprintf("the window has %d processes", len(inWindow))
		}
		return ""
	})
	open, page := pss(t, inDaemon), pss(t, inWindow)
	t.Logf("idle: %.1f MB PSS; window on the screen after %s, its page after %s; with it open: %.1f MB of daemon, tray and watchdog and %.1f MB of the window in %d processes, %.1f MB in all",
		idle, shown.Round(time.Millisecond), painted.Round(time.Millisecond), open, page, len(inWindow), open+page)
	assert.Truef(t, !(page < 20) && !(page > 600), "the window takes %.1f MB", page)
	run(t, command(t, append(d.env(), s.display()...), binary, "quit", "--data", d.data), 0)
	<-d.done
	eventually.Complete(t, limit(5*time.Second), func() string { return alive(append(inDaemon, inWindow...)) })
}
