package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/app/tray"
	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/profiles"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// desktopSettings implements desktop.Settings. All methods are safe for concurrent use.
type desktopSettings struct {
	autostart desktop.Autostart
	servers   *supervisor.Supervisor
	exposed   []string // data and state folders that other users can read
	quit      context.CancelFunc

	mu    sync.Mutex
	shown bool   // the tray icon is shown
	why   string // why the icon is not shown; "" if none was requested
}

// desktopServices implements what the tray and the notifications need from the daemon. All methods
// are safe for concurrent use.
type desktopServices struct {
	*desktopSettings
	history   *store.Store
	approvals *approvals.Inbox
	baseline  *trust.Baseline
	profiles  *profiles.Feature
	pages     *api.API
	windows   *desktop.Feature
	folders   config.Folders
	url       string
	log       *slog.Logger
}

func newDesktopSettings(folders config.Folders, servers *supervisor.Supervisor, quit context.CancelFunc) *desktopSettings {
	return &desktopSettings{servers: servers, exposed: folders.Exposed(), quit: quit, autostart: desktop.AutostartFor(folders)}
}

func (d *desktopSettings) StartsAtLogin() (bool, error)  { return d.autostart.Enabled() }
func (d *desktopSettings) SetStartAtLogin(on bool) error { return d.autostart.Set(on) }
func (d *desktopSettings) Paused() bool                  { return d.servers.Paused() }
func (d *desktopSettings) SetPaused(ctx context.Context, on bool) error {
	return d.servers.SetPaused(ctx, on)
}

// Tray reports whether the tray icon is shown, and if not, why.
func (d *desktopSettings) Tray() (shown bool, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown, d.why
}

func (d *desktopSettings) trayShown(shown bool, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown, d.why = shown, why
}

// notices returns the notices about a missing tray icon, if there is a screen, and about files
// of ours that other users can read.
func (d *desktopSettings) notices() (list []core.Notice) {
	for _, dir := range d.exposed {
		list = append(list, core.Notice{Subject: "folder/" + dir, Message: "Other users of this machine can read " + dir + ", where Drawbridge stores calls and tokens. Use --data to choose a folder that only you can access, or a new one."})
	}
	if shown, why := d.Tray(); !shown && why != "" && hasScreen() {
		list = append(list, core.Notice{Subject: "tray", Message: "No tray icon is shown: " + why + ". To reopen this window, start Drawbridge again."})
	}
	return list
}

// Quit stops the daemon.
func (d *desktopSettings) Quit() { d.quit() }

// closeAll stops the daemon and closes the window.
func (d *desktopServices) closeAll() {
	d.windows.CloseWindows()
	d.Quit()
}

// open shows the page at a route; "" means the current one.
func (d *desktopServices) open(to string) {
	if d.windows.Focus(to) {
		return
	}
	// show may print the address to its output, and the daemon's output may go to a journal that
	// other users can read.
	report(d.log, "open the window", openUI(d.windows.OpenURL(to), d.folders.Data, false, io.Discard))
}

func (d *desktopServices) facts() tray.MenuState {
	on, _ := d.autostart.Enabled() // on an error the entry is not checked
	items := d.approvals.List()
	var held []tray.HeldCall
	for _, i := range items {
		if i.Held != nil {
			held = append(held, tray.HeldCall{
				ID: i.AnswerKey(), Server: i.Server, Tool: i.Held.Tool, Client: i.Client.Name, Arguments: i.Held.Arguments,
				Effect: i.Held.Summary(), Deceptive: len(i.Held.Warnings) > 0,
			})
		}
	}
	names, views, err := d.profiles.ClientProfiles()
	if err != nil {
		d.log.Debug("Cannot list the clients in the tray", "error", err)
	}
	var clients []tray.ClientProfile
	for _, v := range views {
		clients = append(clients, tray.ClientProfile{Client: v.Token, Profile: v.Profile})
	}
	return tray.MenuState{
		Profiles: names, Clients: clients,
		Waiting: len(items) + len(d.servers.PendingCommands()) + len(d.baseline.Withheld()), Calls: held,
		Paused: d.servers.Paused(), PausedUntil: d.servers.PausedUntil(),
		RecordingPaused: d.history.Recording().Paused, StartAtLogin: on, Visible: d.pages.VisibleTools(), Idle: d.pages.Idle().Reason,
	}
}

// recentCalls returns the newest calls of the history. It reads them only if there are new ones.
func (d *desktopServices) recentCalls() func(context.Context) []tray.RecentCall {
	var last int64
	var list []tray.RecentCall
	return func(ctx context.Context) []tray.RecentCall {
		newest, err := d.history.LastCallID(ctx)
		if err != nil || newest == last {
			return list
		}
		calls, _, err := d.history.Calls(ctx, store.Query{Limit: 5})
		if err != nil {
			return list // the next reading tries again
		}
		last, list = newest, nil
		for _, c := range calls {
			if c.Method == core.PreviewMethod {
				continue
			}
			list = append(list, tray.RecentCall{ID: c.ID, Server: c.Server, Tool: c.Name, Failed: c.Outcome != core.OutcomeOK, Took: c.Took})
		}
		return list
	}
}

// answer answers a call that waits for approval, from the tray or a notification. If the call shows something else now,
// the page is opened instead.
func (d *desktopServices) answer(key string, approve bool) {
	action := approvals.Decline
	if approve {
		action = approvals.Accept
	}
	err := d.approvals.AnswerKey(context.Background(), key, action)
	if core.CodeOf(err) == core.CodeConflict {
		d.open("/approvals")
	}
	report(d.log, "respond to an approval request", err)
}

func (d *desktopServices) pauseRecording(ctx context.Context, on bool) error {
	rules := d.history.Recording()
	rules.Paused = on
	return d.history.SaveRecording(ctx, rules)
}

// clipboards lists, by operating system, the programs that copy stdin to the clipboard. None of
// them is a shell.
var clipboards = map[string][][]string{
	"linux":   {{"wl-copy"}, {"xclip", "-selection", "clipboard"}, {"xsel", "--input", "--clipboard"}},
	"darwin":  {{"pbcopy"}},
	"windows": {{"clip"}},
}

// copyAddress copies the bridge's address to the clipboard. If no program can, it shows the page
// that has a button for it.
func (d *desktopServices) copyAddress() {
	if err := copyText(d.url + "/mcp"); err != nil {
		d.log.Info("Cannot copy the bridge's URL", "reason", err.Error())
		d.open("/clients")
	}
}

func copyText(text string) error {
	failed := errors.New("no clipboard program was found")
	for _, line := range clipboards[runtime.GOOS] {
		path, err := exec.LookPath(line[0])
		if err != nil {
			continue
		}
		// An installed program may not work here, such as wl-copy under X11.
		if failed = copyWith(path, line[1:], text); failed == nil {
			return nil
		}
	}
	return failed
}

func copyWith(path string, args []string, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	cmd := osutil.HideConsole(exec.CommandContext(ctx, path, args...))
	cmd.Stdin = strings.NewReader(text)
	cmd.WaitDelay = time.Second
	// No pipes: the process that holds the clipboard stays in the background and would keep them
	// open.
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}

// trayOptions sets the callbacks of the tray. ctx is the context of the daemon.
func (d *desktopServices) trayOptions(ctx context.Context, o tray.Options) tray.Options {
	o.Statuses, o.MenuState, o.Shown = d.servers.Statuses, d.facts, d.trayShown
	o.Open, o.Quit, o.CopyAddress = d.open, d.closeAll, d.copyAddress
	o.Start = func(id string) { report(d.log, "start a server", d.servers.Start(ctx, id)) }
	o.Stop = func(id string) { report(d.log, "stop a server", d.servers.Stop(ctx, id)) }
	o.Restart = func(id string) { report(d.log, "restart a server", d.servers.Restart(ctx, id)) }
	o.Answer, o.Recent = d.answer, d.recentCalls()
	o.SetProfile = func(client, profile string) {
		report(d.log, "assign a client to a profile", d.profiles.SetClientProfile(ctx, client, profile))
	}
	o.PauseFor = func(limit time.Duration) { report(d.log, "pause the servers", d.servers.PauseFor(ctx, limit)) }
	o.Pause = func(on bool) { report(d.log, "pause the servers", d.SetPaused(ctx, on)) }
	o.PauseRecording = func(on bool) { report(d.log, "pause recording", d.pauseRecording(ctx, on)) }
	o.StartAtLogin = func(on bool) { report(d.log, "change the start-at-login setting", d.SetStartAtLogin(on)) }
	return o
}

// notifications sets the callbacks of the watcher that sends notifications.
func (d *desktopServices) notifications(o *desktop.Watcher) *desktop.Watcher {
	o.Log, o.Connect, o.Open, o.Answer, o.Snapshot = d.log, desktop.NewNotifier, d.open, d.answer, d.snapshot
	d.approvals.AddViewer(o.CanNotify)
	return o
}

// snapshot returns the current state, for a watcher that has lost events.
func (d *desktopServices) snapshot() desktop.NotificationState {
	now := desktop.NotificationState{Servers: d.servers.Statuses(), Approvals: d.approvals.List(), Commands: map[string]string{}}
	for _, n := range d.servers.Notices() {
		now.Commands[strings.TrimPrefix(n.Subject, core.UnapprovedCommandSubject)] = n.Message
	}
	return now
}

// report logs the failure of a tray command, because the tray cannot show errors.
func report(log *slog.Logger, what string, err error) {
	if err != nil {
		log.Error("Cannot "+what, "error", err)
	}
}

// mainThread runs functions on the main goroutine, because on macOS windows and icons must use the
// main thread. The rest of the program runs on other goroutines.
type mainThread struct{ work chan func() }

// onMain is the main thread of this program. It is needed on macOS only; on other systems the program
// itself runs on the main goroutine.
var onMain = mainThread{make(chan func())}

// host runs program on a new goroutine, meanwhile runs the functions that do was called with, and
// calls exit with the program's exit code. exit must not return, because such a function may still
// block the main goroutine then, for example a tray that does not stop in time.
func (m mainThread) host(program func() int, exit func(int)) {
	go func() { exit(program()) }()
	for f := range m.work {
		f()
	}
}

// do runs f on the main goroutine and returns its error. It waits for the main goroutine until ctx
// is done, and then for f.
func (m mainThread) do(ctx context.Context, f func(context.Context) error) error {
	done := make(chan error, 1)
	select {
	case m.work <- func() { done <- f(ctx) }:
		return <-done
	case <-ctx.Done():
		return ctx.Err()
	}
}

const mainThreadNeeded = runtime.GOOS == "darwin"

// runTray shows the tray icon. Only macOS needs the main goroutine for it.
func runTray(life *lifecycle, o tray.Options) {
	show := func(ctx context.Context) error { return tray.Run(ctx, o) }
	if mainThreadNeeded {
		life.run("tray", time.Second, func(ctx context.Context) error { return onMain.do(ctx, show) })
		return
	}
	life.run("tray", time.Second, show)
}
