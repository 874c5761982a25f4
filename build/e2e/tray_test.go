//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/app/tray"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() { roles["tray"] = trayProgram }

// trayProgram shows the tray for the statuses that it reads, one JSON list per line, and prints the
// selected menu entries.
func trayProgram() {
	var statuses atomic.Pointer[[]core.ServerStatus]
	statuses.Store(new([]core.ServerStatus))
	var waiting atomic.Int64
	var paused atomic.Bool
	bus := new(core.Bus)
	ctx, cancel := context.WithCancel(context.Background())
	chosen := func(what string) func(string) {
		return func(id string) { fmt.Println(what, id) }
	}
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			var list []core.ServerStatus
			if err := json.Unmarshal(lines.Bytes(), &list); err != nil {
				panic(err)
			}
			statuses.Store(&list)
			waiting.Store(int64(len(list)) / 2)
			bus.Publish(core.ServerEvent, core.ServerStatus{})
		}
		cancel()
	}()
	err := tray.Run(ctx, tray.Options{
		Statuses: func() []core.ServerStatus { return *statuses.Load() },
		Bus:      bus,
		MenuState: func() tray.MenuState {
			state := tray.MenuState{Waiting: int(waiting.Load()), Paused: paused.Load()}
			if len(*statuses.Load()) == 0 {
				state.Idle = "No servers are configured"
			}
			return state
		},
		Open:  chosen("open"),
		Quit:  func() { fmt.Println("quit"); cancel() },
		Start: chosen("start"), Stop: chosen("stop"), Restart: chosen("restart"),
		Pause: func(on bool) { paused.Store(on); fmt.Println("pause", on) },

		Recent:         func(context.Context) []tray.RecentCall { return nil },
		Answer:         func(string, bool) {},
		SetProfile:     func(string, string) {},
		PauseFor:       func(time.Duration) {},
		PauseRecording: func(bool) {},
		StartAtLogin:   func(bool) {},
		CopyAddress:    func() {},
		Shown:          func(bool, string) {},
		Log:            slog.New(slog.DiscardHandler),
	})
	fmt.Println("ended", err)
}

func TestTrayShowsServersAndMenuWorks(t *testing.T) {
	t.Parallel()
	s := desktop(t)
	self, err := os.Executable()
	require.NoError(t, err)
	program := s.command(self)
	program.Env = append(program.Env, "DRAWBRIDGE_E2E_ROLE=tray")
	in, err := program.StdinPipe()
	require.NoError(t, err)
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	said := make(chan string, 16)
	s.background(program)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			said <- lines.Text()
		}
		close(said)
	}()
	pid := program.Process.Pid
	show := func(list ...core.ServerStatus) {
		src, _ := json.Marshal(list)
		io.WriteString(in, string(src)+"\n")
	}
	rest := []string{"Pause all servers", "Pause for an hour", "Pause recording", "Copy bridge URL", "Connect a client…", "Start at login", "Quit Drawbridge"}
	expect := func(want ...string) []entry {
		t.Helper()
		want = append(want, rest...)
		var list []entry
		eventually.Complete(t, patience, func() string {
			list = s.menu(pid)
			if got := labels(list); !slices.Equal(got, want) {
				return fmt.Sprintf("the menu says %q, want %q", got, want)
			}
			return ""
		})
		return list
	}
	heard := func() string {
		t.Helper()
		return eventually.Receive(t, patience, "no click was heard", said)
	}
	hears := func(want string) {
		t.Helper()
		require.Equal(t, want, heard())
	}

	expect("No servers are configured", "Open Drawbridge")
	files := core.ServerStatus{ID: "my_files", Label: "my_files", State: core.StateRunning, Tools: 14}
	github := core.ServerStatus{ID: "github", Label: "github", State: core.StateStarting}
	show(files, github)
	before := expect("1 of 2 servers running", "1 approval pending", "Open Drawbridge", "● my__files: running, 14 tools", "◌ github: starting")

	var at image.Point
	eventually.TrueWithin(t, patience, "the panel shows no icon of ours", func() bool {
		var n int
		at, n = find(s.picture("tray-ok"), image.Rect(0, 0, 1400, 40), 0x0f, 0x65, 0x77)
		return n >= 20
	})

	github.State, github.Reason = core.StateFailed, "exited with 1"
	show(files, github)
	after := expect("1 of 2 servers running", "1 approval pending", "Open Drawbridge", "● my__files: running, 14 tools", "✕ github: failed")
	assert.Equal(t, after[4].id, before[4].id, "the entry was made anew instead of changed in place")
	if reason, ok := named(after, "exited with 1"); !ok || reason.enabled {
		t.Errorf("the reason is not to be read: %+v", after[4])
	}
	eventually.TrueWithin(t, patience, "the icon does not turn red", func() bool {
		_, n := find(s.picture("tray-error"), image.Rect(0, 0, 1400, 40), 0xd6, 0x29, 0x3e)
		return n >= 8
	})

	run(t, s.command("xdotool", "mousemove", fmt.Sprint(at.X), fmt.Sprint(at.Y), "click", "3"), 0)
	eventually.TrueWithin(t, patience, "no menu opens", func() bool {
		// An open menu of GTK is an undecorated window below the panel.
		_, n := find(s.picture("tray-menu"), image.Rect(0, 40, 1400, 400), 0xff, 0xff, 0xff)
		return n >= 3000
	})
	run(t, s.command("xdotool", "key", "Escape"), 0)

	s.click(pid, after[3].under[1].id)
	hears("stop my_files")
	s.click(pid, after[4].under[1].id)
	hears("start github")
	s.click(pid, after[4].under[4].id)
	hears("open /servers/github?view=config")
	s.click(pid, after[4].under[5].id)
	hears("open /servers/github?view=log")
	for range 20 { // no click is lost, however soon it follows another
		s.click(pid, after[3].under[1].id)
		s.click(pid, after[4].under[1].id)
		either := []string{heard(), heard()}
		slices.Sort(either)
		require.Equal(t, []string{"start github", "stop my_files"}, either, "two clicks at once chose")
	}
	s.click(pid, after[1].id)
	hears("open /approvals")
	s.click(pid, after[2].id)
	hears("open ")

	show(github)
	left := expect("0 of 1 server running", "Open Drawbridge", "✕ github: failed")
	assert.Equal(t, after[4].id, left[2].id, "a server lost its place when another one went")
	show()
	expect("No servers are configured", "Open Drawbridge")

	s.click(pid, left[3].id)
	hears("pause true")
	rest = append([]string{"Resume all servers"}, rest[2:]...)
	expect("All servers are paused", "Open Drawbridge")
	s.click(pid, left[9].id)
	hears("quit")
	hears("ended <nil>")
	assert.NotContains(t, strings.Join(labels(s.menu(pid)), ""), "Open", "the icon outlives its program")
}
