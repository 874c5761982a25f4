package main

import (
	"context"
	"runtime"
	"time"

	"github.com/drawbridge-mcp/drawbridge/app/tray"
)

// mainLoop lends the main goroutine to what works nowhere else: on macOS, windows and
// icons belong to the thread that the program began on. Everything else of the program
// runs beside it.
type mainLoop struct{ work chan func() }

// onMain is the one of this program. Elsewhere than on macOS nothing needs it, and the
// program itself runs on the main goroutine.
var onMain = mainLoop{make(chan func())}

// host calls program on a goroutine of its own, does meanwhile what do is given, and
// calls exit with the program's code. exit must not return: what do was given may still
// hold the main goroutine then, as a tray that does not end in time.
func (m mainLoop) host(program func() int, exit func(int)) {
	go func() { exit(program()) }()
	for f := range m.work {
		f()
	}
}

// do runs f on the main goroutine and returns its error. It waits for its turn as long
// as ctx lasts, and then for f.
func (m mainLoop) do(ctx context.Context, f func(context.Context) error) error {
	done := make(chan error, 1)
	select {
	case m.work <- func() { done <- f(ctx) }:
		return <-done
	case <-ctx.Done():
		return ctx.Err()
	}
}

const mainLoopNeeded = runtime.GOOS == "darwin"

// runTray shows the icon. Only on macOS does it need the main goroutine.
func runTray(life *lifecycle, o tray.Options) {
	show := func(ctx context.Context) error { return tray.Run(ctx, o) }
	if mainLoopNeeded {
		life.run("tray", time.Second, func(ctx context.Context) error { return onMain.do(ctx, show) })
		return
	}
	life.run("tray", time.Second, show)
}
