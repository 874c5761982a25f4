//go:build desktop || bindings || dev

package window

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/options/mac"
	"github.com/wailsapp/wails/v2/pkg/runtime"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/build/icons"
)

// Main shows the window and returns when it is closed. Nothing that can fail or takes long may
// precede wails.Run, because the Wails tools run Main to find bindings.
func Main() {
	if osutil.CheckWindowRuntime() != nil { // only on Windows, where Wails would show a dialog that downloads it
		openInBrowser()
		return
	}
	// Without this the window stays white with some graphics drivers:
	// https://github.com/wailsapp/wails/issues/4985
	if os.Getenv("WEBKIT_DISABLE_DMABUF_RENDERER") == "" {
		os.Setenv("WEBKIT_DISABLE_DMABUF_RENDERER", "1")
	}
	d := newDaemon(os.Getenv(dataVariable))
	ready, awaited := readiness()
	entry := newEntryPage(os.Getenv(urlVariable), d.newPageURL)
	os.Unsetenv(urlVariable) // the web processes must not inherit the code
	past := parseRendererCrashes(os.Getenv(crashesVariable))
	os.Unsetenv(crashesVariable)
	entry.redirected = len(past) > 0 // the code was used before the restart

	at, known := readWindowState(d.folder())
	state := options.Normal
	if at.Maximised {
		state = options.Maximised
	}
	// ours is cancelled when the window closes; Wails' context carries its runtime and is never
	// cancelled.
	ours, end := context.WithCancel(context.Background())
	var ctx context.Context
	var asked recentLink
	recoverRenderer(&rendererRecovery{past: past, daemon: d, entry: entry, awaited: awaited})
	links := make(chan string, 8) // links that the system passes on; "" is a start without a link
	if d.folder() == "" && entry.origin() == "" {
		links <- ""
	}
	err := wails.Run(&options.App{
		Title:            "Drawbridge",
		Width:            at.Width,
		Height:           at.Height,
		MinWidth:         minWidth,
		MinHeight:        minHeight,
		WindowStartState: state,
		BackgroundColour: options.NewRGB(0xf6, 0xf5, 0xf2), // the page's light background
		AssetServer:      &assetserver.Options{Handler: entry},
		OnStartup: func(c context.Context) {
			ctx = c
			watchPage()
			if !at.Maximised && !shrink(c, at) && known {
				runtime.WindowSetPosition(c, at.X, at.Y)
			}
			go openDeepLinks(c, ours, d, entry, links)
		},
		OnDomReady: func(c context.Context) {
			ready()
			following.Do(func() {
				go d.follow(ours, func() { reconnected(c, d, entry) }, func(cmd command) { go runCommand(c, d, entry, &asked, cmd) })
				watchPage()
			})
			// A new goroutine, because this is GTK's thread, which also runs the scripts.
			go navigateToRoute(c, asked.route(time.Now()), entry)
		},
		OnBeforeClose: func(c context.Context) bool {
			p := windowState{Maximised: runtime.WindowIsMaximised(c)}
			p.Width, p.Height = runtime.WindowGetSize(c)
			p.X, p.Y = runtime.WindowGetPosition(c)
			if p.Maximised { // keep the size from before it was maximised
				p.X, p.Y, p.Width, p.Height = at.X, at.Y, at.Width, at.Height
			}
			saveWindowState(d.folder(), p)
			return false
		},
		OnShutdown: func(context.Context) { end() },
		SingleInstanceLock: &options.SingleInstanceLock{
			UniqueId: "drawbridge_" + fingerprint(entry.origin()),
			OnSecondInstanceLaunch: func(options.SecondInstanceData) {
				bringToFront(ctx)
				if !entry.daemonResponds() {
					runtime.WindowReloadApp(ctx)
				}
			},
		},
		// Wails listens for the Apple event of a link from its start on, and calls this on a
		// goroutine.
		Mac: &mac.Options{OnUrlOpen: func(link string) {
			select {
			case links <- link:
			default: // drop the link: too many are waiting
			}
		}},
		Linux: &linux.Options{
			Icon:             icons.App,
			ProgramName:      "drawbridge",
			WebviewGpuPolicy: linux.WebviewGpuPolicyNever,
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "drawbridge-window: cannot show the window:", err)
		os.Exit(exitNoWindow)
	}
}

// openInBrowser lets the daemon's program start the daemon and open the page in the browser.
func openInBrowser() {
	self, err := os.Executable()
	if err == nil {
		err = osutil.HideConsole(exec.Command(daemonProgram(self))).Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "drawbridge-window: cannot open the page in the browser:", err)
		os.Exit(exitNoWindow)
	}
}

// readiness returns a function that reports to the process that started us that the window shows a
// page, and a function that returns whether that process still waits. It waits for a byte or for
// our exit, after which it opens the browser instead: WebKit may end the whole program before.
func readiness() (reportReady func(), awaited func() bool) {
	if os.Getenv(readyVariable) == "" {
		return func() {}, func() bool { return false }
	}
	os.Unsetenv(readyVariable)
	file := os.NewFile(readyDescriptor, "ready")
	var reported atomic.Bool
	return sync.OnceFunc(func() {
		reported.Store(true)
		if file != nil {
			_, _ = file.Write([]byte{1}) // the reader may have exited
			file.Close()
		}
	}), func() bool { return !reported.Load() }
}

// following starts following the daemon once, after the first page has loaded.
var following sync.Once

// sendPickedPath sends the path that the user chose to the daemon; "" means none.
func (d *daemon) sendPickedPath(ctx context.Context, id, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	resp, err := d.request(ctx, http.MethodPost, "window/picked", map[string]string{"id": id, "path": path})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func bringToFront(ctx context.Context) {
	runtime.WindowUnminimise(ctx)
	runtime.WindowShow(ctx)
}

// shrink makes the window fit on its screen and centres it. It reports whether that was necessary.
func shrink(ctx context.Context, at windowState) bool {
	screens, _ := runtime.ScreenGetAll(ctx)
	for _, screen := range screens {
		if !screen.IsCurrent {
			continue
		}
		fits, smaller := at.fitting(screen.Size.Width, screen.Size.Height)
		if smaller {
			runtime.WindowSetSize(ctx, fits.Width, fits.Height)
			runtime.WindowCenter(ctx)
		}
		return smaller
	}
	return false
}

// openDeepLinks navigates the page to the target of each link until ours is done. It loads the page
// again for that, because at the start there may be no page yet.
func openDeepLinks(ctx, ours context.Context, d *daemon, entry *entryPage, links <-chan string) {
	self, _ := os.Executable() // without it the program is searched in PATH
	for {
		select {
		case <-ours.Done():
			return
		case link := <-links:
			first := d.folder() == ""
			address, err := d.startDaemon(ours, daemonProgram(self), link)
			if err != nil {
				fmt.Fprintln(os.Stderr, "drawbridge-window:", err)
				continue
			}
			if at, known := readWindowState(d.folder()); first && known {
				if !shrink(ctx, at) {
					runtime.WindowSetSize(ctx, at.Width, at.Height)
					runtime.WindowSetPosition(ctx, at.X, at.Y)
				}
				if at.Maximised {
					runtime.WindowMaximise(ctx)
				}
			}
			entry.redirectTo(address)
			bringToFront(ctx)
			runtime.WindowReloadApp(ctx)
		}
	}
}

// reconnected is called when the daemon responds again. The page and the entry page recover without
// help, unless the address has changed.
func reconnected(ctx context.Context, d *daemon, entry *entryPage) {
	address := d.newPageURL(ctx)
	before := entry.origin()
	entry.set(localAddress(address))
	if js := moveScript(address); js != "" && entry.origin() != before {
		runtime.WindowExecJS(ctx, js)
	}
}

// navigateToRoute navigates the page to a route; "" means the current one.
func navigateToRoute(ctx context.Context, to string, entry *entryPage) {
	if js := navigationScript(to, entry.pageAddress()); js != "" {
		runtime.WindowExecJS(ctx, js)
	}
}

func runCommand(ctx context.Context, d *daemon, entry *entryPage, asked *recentLink, c command) {
	switch c.Command {
	case "focus":
		asked.set(c.To, time.Now())
		bringToFront(ctx)
		navigateToRoute(ctx, c.To, entry)
	case "pick":
		var path string
		var err error
		if c.Kind == "folder" {
			path, err = runtime.OpenDirectoryDialog(ctx, runtime.OpenDialogOptions{Title: "Choose a folder"})
		} else {
			path, err = runtime.OpenFileDialog(ctx, runtime.OpenDialogOptions{Title: "Choose a file"})
		}
		if err != nil {
			path = ""
		}
		if err := d.sendPickedPath(ctx, c.ID, path); err != nil {
			fmt.Fprintln(os.Stderr, "drawbridge-window: cannot send the chosen path:", err)
		}
	case "quit":
		runtime.Quit(ctx)
	}
}

// fingerprint returns an ID for the address, so that two daemons, such as one under development,
// can each have a window.
func fingerprint(base string) string {
	sum := sha256.Sum256([]byte(base))
	return hex.EncodeToString(sum[:6])
}
