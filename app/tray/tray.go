//go:build !darwin || cgo

package tray

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"fyne.io/systray"

	"github.com/drawbridge-mcp/drawbridge/build/icons"
)

var started atomic.Bool // systray uses global state: one tray per process

// Run shows the tray until ctx is done, and then returns nil. If an icon cannot be shown, it logs
// that once and waits until a panel appears or ctx is done. It never starts a session bus, and a
// missing panel is never an error. Run may be called once per process, on macOS from the main
// goroutine.
func Run(ctx context.Context, o Options) error {
	if !started.CompareAndSwap(false, true) {
		return errors.New("cannot show a second tray in one process")
	}
	if err := awaitPanel(ctx, o); err != nil {
		return waitWithoutIcon(ctx, o, err.Error())
	}
	o.Shown(true, "")
	var attending sync.WaitGroup
	defer attending.Wait()
	attending.Go(func() { watchPanel(ctx, o) })

	v := newView(o)
	systray.SetOnTapped(func() { go o.Open("") }) // read once, when the icon is exported
	ended := make(chan struct{})
	loop := func() {
		defer close(ended)
		// systray panics in Quit if the bus disconnects at that moment.
		defer func() {
			if r := recover(); r != nil {
				o.Log.Warn("The tray icon stopped unexpectedly", "reason", r)
			}
		}()
		systray.Run(v.build, func() { stopAtLogout(ctx, o, logoutTimeout) })
	}
	if runtime.GOOS == "darwin" {
		go func() {
			v.follow(ctx)
			systray.Quit()
		}()
		loop()
		return nil
	}
	go func() {
		if runtime.GOOS == "windows" {
			runtime.LockOSThread() // a message loop belongs to the thread of its window
		}
		loop()
	}()
	v.follow(ctx)
	select {
	case <-v.ready:
	default: // without a desktop, as in a service of Windows, systray shows nothing, and its loop does not end
		return nil
	}
	systray.Quit()
	select {
	case <-ended:
	case <-time.After(time.Second): // an unresponsive bus must not block the program's exit
		o.Log.Warn("The tray icon did not stop in time")
	}
	return nil
}

// logoutTimeout is the time limit for the program to stop when the user logs out. Windows waits 5 s
// for each program.
const logoutTimeout = 4 * time.Second

// stopAtLogout is called in systray's event loop when the icon is removed. If we did not cause that, the
// user's session ends, and Windows and macOS end this process as soon as leave returns. Therefore
// the program stops in order first.
func stopAtLogout(ctx context.Context, o Options, within time.Duration) {
	if ctx.Err() != nil {
		return
	}
	o.Quit()
	<-time.After(within)
}

// iconImage returns the icon's image in the format of this system.
func iconImage(icon Icon) []byte {
	if runtime.GOOS == "windows" {
		return icons.TrayICO(string(icon))
	}
	return icons.TrayPNG(string(icon))
}
