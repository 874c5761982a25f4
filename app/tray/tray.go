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

var started atomic.Bool // systray keeps its state in globals: one tray per process

// Run shows the tray until ctx ends, and then returns nil. Where there is no place for
// an icon it logs that once and waits: for a place to appear, or for ctx to end. It
// never starts a session bus, and an icon that cannot be shown is never an error.
// A process may call it once; on macOS from its main goroutine.
func Run(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	if !started.CompareAndSwap(false, true) {
		return errors.New("cannot show a second tray in one process")
	}
	if err := awaitPlace(ctx, o); err != nil {
		return waitWithout(ctx, o, err.Error())
	}
	o.Shown(true, "")
	var attending sync.WaitGroup
	defer attending.Wait()
	attending.Go(func() { attend(ctx, o) })

	v := newView(o)
	systray.SetOnTapped(func() { go o.Open("") }) // read once while the icon is exported
	ended := make(chan struct{})
	loop := func() {
		defer close(ended)
		// A bus that goes away at the wrong moment makes systray panic while it quits.
		defer func() {
			if r := recover(); r != nil {
				o.Log.Warn("The tray ended early", "reason", r)
			}
		}()
		systray.Run(v.build, func() { leave(ctx, o, sessionEnd) })
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
	systray.Quit()
	select {
	case <-ended:
	case <-time.After(time.Second): // a bus that hangs must not hold up the program's end
		o.Log.Warn("The tray did not end in time")
	}
	return nil
}

// sessionEnd is how long the program may take to end when the user logs out: Windows
// waits 5 s for each program.
const sessionEnd = 4 * time.Second

// leave is called in systray's event loop while the icon goes. When that is not our
// doing, the user's session ends, and Windows and macOS end this process as soon as
// leave returns: so the program ends in order first.
func leave(ctx context.Context, o Options, within time.Duration) {
	if ctx.Err() != nil {
		return
	}
	o.Quit()
	<-time.After(within)
}

// picture is the icon's file for this system.
func picture(icon Icon) []byte {
	if runtime.GOOS == "windows" {
		return icons.TrayICO(string(icon))
	}
	return icons.TrayPNG(string(icon))
}
