package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBlockedMainLoopStillExits(t *testing.T) {
	m := mainThread{make(chan func())}
	exited := make(chan int, 1)
	held := make(chan struct{})
	go m.host(func() int {
		ctx, cancel := context.WithCancel(context.Background())
		want := errors.New("the tray is gone")
		assert.ErrorIs(t, m.do(ctx, func(context.Context) error { return want }), want, "the error of what ran")
		// A function that blocks the main goroutine does not block the exit.
		taken := make(chan struct{})
		go m.do(ctx, func(context.Context) error { close(taken); <-held; return nil })
		<-taken
		cancel()
		assert.ErrorIs(t, m.do(ctx, func(context.Context) error { t.Error("two at once"); return nil }), context.Canceled)
		return 7
	}, func(code int) { exited <- code; close(held) })
	code := <-exited
	assert.Equal(t, 7, code)
	close(m.work)
}
