//go:build desktop || bindings || dev

package window

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/options/mac"
	"github.com/wailsapp/wails/v2/pkg/runtime"

	"github.com/drawbridge-mcp/drawbridge/build/icons"
)

// Main shows the window and returns when it is closed. Nothing may come before
// wails.Run that can fail or take time: the Wails tools run Main to find bindings.
func Main() {
	// White windows on some graphics drivers: https://github.com/wailsapp/wails/issues/4985
	if os.Getenv("WEBKIT_DISABLE_DMABUF_RENDERER") == "" {
		os.Setenv("WEBKIT_DISABLE_DMABUF_RENDERER", "1")
	}
	d := newDaemon(os.Getenv(dataVariable))
	ready, awaited := readiness()
	lead := newEntryPage(os.Getenv(urlVariable), d.address)
	os.Unsetenv(urlVariable) // the web processes need not inherit the code
	past := parseRendererCrashes(os.Getenv(relapsesVariable))
	os.Unsetenv(relapsesVariable)
	lead.led = len(past) > 0 // the code was used in the life before

	at, known := readWindowState(d.folder())
	state := options.Normal
	if at.Maximised {
		state = options.Maximised
	}
	// ours ends with the window; wails' context carries its runtime and does not.
	ours, end := context.WithCancel(context.Background())
	var ctx context.Context
	var asked recentLink
	recoverRenderer(&lifecycle{past: past, daemon: d, lead: lead, awaited: awaited})
	calls := make(chan string, 8) // links that the system hands over; "" is a start without one
	if d.folder() == "" && lead.base() == "" {
		calls <- ""
	}
	err := wails.Run(&options.App{
		Title:            "Drawbridge",
		Width:            at.Width,
		Height:           at.Height,
		MinWidth:         leastWidth,
		MinHeight:        leastHeight,
		WindowStartState: state,
		BackgroundColour: options.NewRGB(0xf6, 0xf5, 0xf2), // the page's light canvas
		AssetServer:      &assetserver.Options{Handler: lead},
		OnStartup: func(c context.Context) {
			ctx = c
			watchPage()
			if known && !at.Maximised {
				runtime.WindowSetPosition(c, at.X, at.Y)
			}
			go called(c, ours, d, lead, calls)
		},
		OnDomReady: func(c context.Context) {
			ready()
			following.Do(func() {
				go d.follow(ours, func() { back(c, d, lead) }, func(cmd command) { go obey(c, d, lead, &asked, cmd) })
				watchPage()
			})
			// GTK's thread calls this, and it is what runs scripts.
			go follow(c, asked.place(time.Now()), lead)
		},
		OnBeforeClose: func(c context.Context) bool {
			p := windowState{Maximised: runtime.WindowIsMaximised(c)}
			p.Width, p.Height = runtime.WindowGetSize(c)
			p.X, p.Y = runtime.WindowGetPosition(c)
			if p.Maximised { // the size to go back to is the one from before
				p.X, p.Y, p.Width, p.Height = at.X, at.Y, at.Width, at.Height
			}
			saveWindowState(d.folder(), p)
			return false
		},
		OnShutdown: func(context.Context) { end() },
		SingleInstanceLock: &options.SingleInstanceLock{
			UniqueId: "drawbridge_" + fingerprint(lead.base()),
			OnSecondInstanceLaunch: func(options.SecondInstanceData) {
				front(ctx)
				if !lead.answers() {
					runtime.WindowReloadApp(ctx)
				}
			},
		},
		// Wails listens for the Apple event that brings a link from its beginning, and calls
		// this on a goroutine.
		Mac: &mac.Options{OnUrlOpen: func(link string) {
			select {
			case calls <- link:
			default: // nobody follows that many
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
		os.Exit(noWindow)
	}
}

// readiness returns what tells whoever started us that there is a window with a page in it,
// and whether he still waits: WebKit may end the whole program before. He waits for the
// word, or for our end, which sends the user to the browser instead.
func readiness() (tell func(), awaited func() bool) {
	if os.Getenv(readyVariable) == "" {
		return func() {}, func() bool { return false }
	}
	os.Unsetenv(readyVariable)
	file := os.NewFile(readyDescriptor, "ready")
	var told atomic.Bool
	return sync.OnceFunc(func() {
		told.Store(true)
		if file != nil {
			_, _ = file.Write([]byte{1}) // he may have gone
			file.Close()
		}
	}), func() bool { return !told.Load() }
}

// following: the window follows the daemon from its first page on.
var following sync.Once

// picked tells what the user chose; "" is nothing.
func (d *daemon) picked(ctx context.Context, id, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	resp, err := d.request(ctx, http.MethodPost, "window/picked", map[string]string{"id": id, "path": path})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func front(ctx context.Context) {
	runtime.WindowUnminimise(ctx)
	runtime.WindowShow(ctx)
}

// called brings the page to where each call leads, until ours ends. The page is loaded
// anew for it: at a start there may be none yet that could be led.
func called(ctx, ours context.Context, d *daemon, lead *entryPage, calls <-chan string) {
	self, _ := os.Executable() // without it the program is looked for in PATH
	for {
		select {
		case <-ours.Done():
			return
		case link := <-calls:
			first := d.folder() == ""
			address, err := d.startDaemon(ours, daemonProgram(self), link)
			if err != nil {
				fmt.Fprintln(os.Stderr, "drawbridge-window:", err)
				continue
			}
			if at, known := readWindowState(d.folder()); first && known {
				runtime.WindowSetSize(ctx, at.Width, at.Height)
				runtime.WindowSetPosition(ctx, at.X, at.Y)
				if at.Maximised {
					runtime.WindowMaximise(ctx)
				}
			}
			lead.take(address)
			front(ctx)
			runtime.WindowReloadApp(ctx)
		}
	}
}

// back is called when the daemon answers again. The page recovers by itself, and so does the
// entrance, which stands where the page could not be loaded, unless the address is another one.
func back(ctx context.Context, d *daemon, lead *entryPage) {
	address := d.address(ctx)
	before := lead.base()
	lead.set(local(address))
	if js := move(address); js != "" && lead.base() != before {
		runtime.WindowExecJS(ctx, js)
	}
}

// follow leads the page to a place of itself; "" is where it is.
func follow(ctx context.Context, to string, lead *entryPage) {
	if js := script(to, lead.page()); js != "" {
		runtime.WindowExecJS(ctx, js)
	}
}

// obey does what the daemon asks for.
func obey(ctx context.Context, d *daemon, lead *entryPage, asked *recentLink, c command) {
	switch c.Command {
	case "focus":
		asked.set(c.To, time.Now())
		front(ctx)
		follow(ctx, c.To, lead)
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
		if err := d.picked(ctx, c.ID, path); err != nil {
			fmt.Fprintln(os.Stderr, "drawbridge-window: cannot hand over what was picked:", err)
		}
	case "quit":
		runtime.Quit(ctx)
	}
}

// fingerprint lets two daemons, such as one under development, have a window each.
func fingerprint(base string) string {
	sum := sha256.Sum256([]byte(base))
	return hex.EncodeToString(sum[:6])
}
