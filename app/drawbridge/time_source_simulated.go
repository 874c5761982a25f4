//go:build simulatedclock

package main

import (
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// timeSource is daemon.now. It returns the system time plus the offset in the file DRAWBRIDGE_CLOCK_FILE, such as -2h.
// Only the soak test builds the program with it, to simulate clock changes without changing the
// clock of the machine.
var timeSource = func() time.Time { return time.Now().Add(time.Duration(clockOffset.Load())) }

var clockOffset atomic.Int64

func init() {
	path := os.Getenv("DRAWBRIDGE_CLOCK_FILE")
	go func() {
		for range time.Tick(50 * time.Millisecond) {
			text, _ := os.ReadFile(path)
			if offset, err := time.ParseDuration(strings.TrimSpace(string(text))); err == nil {
				clockOffset.Store(int64(offset))
			}
		}
	}()
}
