//go:build jumpyclock

package main

import (
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// clock returns the system time plus the offset in the file DRAWBRIDGE_CLOCK_FILE, such as -2h.
// Only the soak test builds the program with it, to simulate clock changes without changing the
// clock of the machine.
var clock = func() time.Time { return time.Now().Add(time.Duration(wrongBy.Load())) }

var wrongBy atomic.Int64

func init() {
	path := os.Getenv("DRAWBRIDGE_CLOCK_FILE")
	go func() {
		for range time.Tick(50 * time.Millisecond) {
			said, _ := os.ReadFile(path)
			if by, err := time.ParseDuration(strings.TrimSpace(string(said))); err == nil {
				wrongBy.Store(int64(by))
			}
		}
	}()
}
