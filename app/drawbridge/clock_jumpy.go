//go:build jumpyclock

package main

import (
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// clock is the system's, wrong by what the file DRAWBRIDGE_CLOCK_FILE says, such as -2h.
// Only the soak test builds the program so: a clock that jumps is nothing that a test
// may do to the machine that it runs on.
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
