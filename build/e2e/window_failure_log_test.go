//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// logOnFailure logs after a failed test the content of the screen, the output of a program and, of
// a window of ours, its stacks. They show whether the window hung or the test did not reach it.
func (s *screen) logOnFailure(cmd *exec.Cmd, log string) {
	if !s.t.Failed() {
		return
	}
	s.pictured.Do(func() {
		name := strings.NewReplacer("/", "-", " ", "-").Replace(s.t.Name()) + "-failed.png"
		out, err := s.command("timeout", "20", "import", "-window", "root", filepath.Join(output, name)).CombinedOutput()
		s.t.Logf("the screen is in output/%s (%v %s); its windows:\n%s", name, err, out, s.titles())
	})
	p, there := processOf(cmd.Process.Pid)
	there = there && p.state != "Z"
	if cmd.Path == window && there {
		s.t.Logf("the window's threads:\n%s", threads(cmd.Process.Pid))
		cmd.Process.Signal(syscall.SIGQUIT) // Go prints all stacks and exits
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for range 50 {
			if p, left := processOf(cmd.Process.Pid); !left || p.state == "Z" {
				break
			}
			<-tick.C
		}
	}
	said, _ := os.ReadFile(log)
	s.t.Logf("%s (still there: %v) said:\n%s%s", cmd.Args[0], there, tail(string(said)), crash(string(said)))
}

// logWindowOnFailure logs after a failed test what the threads do of the window that the daemon
// with the folder data shows. The test has not started it, so its output is lost.
func logWindowOnFailure(t testing.TB, data string) {
	if !t.Failed() {
		return
	}
	for _, p := range windowsOf(data) {
		t.Logf("the window's threads:\n%s", threads(p.pid))
		if gdb, err := exec.LookPath("gdb"); err == nil {
			out, err := exec.Command("timeout", "30", gdb, "-p", fmt.Sprint(p.pid), "-batch", "-ex", "backtrace 40").CombinedOutput()
			t.Logf("its first thread (%v):\n%s", err, tail(string(out)))
		}
	}
}

// titles lists the windows on the screen.
func (s *screen) titles() string {
	out, _ := s.command("timeout", "10", "sh", "-c", "xprop -root _NET_CLIENT_LIST _NET_ACTIVE_WINDOW; for w in $(xdotool search --onlyvisible --name .); do echo $w $(xdotool getwindowname $w); done").CombinedOutput()
	return string(out)
}

// threads returns the state of each thread of a process.
func threads(pid int) string {
	var text strings.Builder
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, task := range tasks {
		name, _ := os.ReadFile(filepath.Join(task, "comm"))
		waits, _ := os.ReadFile(filepath.Join(task, "wchan"))
		state := "?"
		if stat, _ := os.ReadFile(filepath.Join(task, "stat")); len(stat) > 0 {
			if _, rest, ok := strings.Cut(string(stat), ") "); ok {
				state = rest[:1]
			}
		}
		fmt.Fprintf(&text, "%s %s %s %s\n", filepath.Base(task), state, strings.TrimSpace(string(name)), waits)
	}
	return text.String()
}

// closeWindow closes our window with the window manager's key, as the user does, and repeats that
// while the window stays, because a key is lost if the focus moves at that moment. data is the
// folder of its daemon. A window that is closed writes its position there, so a failure can tell
// whether the key was lost or the window hangs.
func (s *screen) closeWindow(data string) {
	s.t.Helper()
	began, pressed := time.Now(), 0
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last time.Time
	var trouble string
	for {
		list := s.windows("Drawbridge")
		if len(list) == 0 {
			if pressed > 1 {
				s.t.Logf("the key for closing was pressed %d times within %s", pressed, time.Since(began))
			}
			return
		}
		if time.Since(began) > patience {
			why := "none of them reached it"
			if info, err := os.Stat(filepath.Join(data, "window.json")); err == nil && info.ModTime().After(began) {
				why = "it was asked to close, and hangs"
			}
			s.t.Fatalf("the window stays %s after the first of %d presses of the key for closing: %s %s", patience, pressed, why, trouble)
		}
		if time.Since(last) > limit(time.Second) {
			// --sync waits until the window manager reports the focus.
			out, err := s.command("timeout", "5", "xdotool", "windowactivate", "--sync", list[0]).CombinedOutput()
			if err == nil { // sent as a keyboard does, because the window manager ignores other events
				out, err = s.command("timeout", "5", "xdotool", "key", "alt+F4").CombinedOutput()
			}
			if err != nil {
				trouble = fmt.Sprintf("(%v %s)", err, out)
			}
			pressed++
			last = time.Now()
		}
		<-tick.C
	}
}
