package main

import (
	"context"
	"errors"
	"testing"
)

func TestBlockedMainLoopStillExits(t *testing.T) {
	m := mainThread{make(chan func())}
	exited := make(chan int, 1)
	held := make(chan struct{})
	go m.host(func() int {
		ctx, cancel := context.WithCancel(context.Background())
		want := errors.New("the tray is gone")
		if err := m.do(ctx, func(context.Context) error { return want }); !errors.Is(err, want) {
			t.Errorf("the error of what ran is %v", err)
		}
		// A function that blocks the main goroutine does not block the exit.
		taken := make(chan struct{})
		go m.do(ctx, func(context.Context) error { close(taken); <-held; return nil })
		<-taken
		cancel()
		if err := m.do(ctx, func(context.Context) error { t.Error("two at once"); return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("who waits for the main goroutine hears %v", err)
		}
		return 7
	}, func(code int) { exited <- code; close(held) })
	if code := <-exited; code != 7 {
		t.Errorf("exit %d", code)
	}
	close(m.work)
}
