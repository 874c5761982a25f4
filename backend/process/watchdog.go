package process

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

var underWatchdog = sync.OnceValues(func() (<-chan struct{}, bool) {
	value, set := os.LookupEnv(watchdogVariable)
	os.Unsetenv(watchdogVariable)
	if !set {
		return nil, false
	}
	descriptor, parent, _ := strings.Cut(value, ":")
	fd, err1 := strconv.Atoi(descriptor)
	pid, err2 := strconv.Atoi(parent)
	if err1 != nil || err2 != nil || fd < 3 || pid != os.Getppid() {
		return nil, false // inherited from somebody else's daemon
	}
	return lifeline(fd), true
})

// UnderWatchdog reports whether this process is a daemon that RunWatchdog
// started. lost is closed when the watchdog has died: nobody would then clean up
// after a second accident, so the daemon has to stop everything and itself. Call
// it before anything is started.
func UnderWatchdog() (lost <-chan struct{}, ok bool) { return underWatchdog() }

// NeedsWatchdog reports whether the daemon should be run by RunWatchdog: the
// platform has no other way to end orphans, and none watches us yet.
func NeedsWatchdog() bool {
	_, ok := UnderWatchdog()
	return watchdogHelps && !ok
}
