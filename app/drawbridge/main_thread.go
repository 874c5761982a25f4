package main

import (
	"context"
	"runtime"
	"time"

	"github.com/drawbridge-mcp/drawbridge/app/tray"
)

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
