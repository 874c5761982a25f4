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
		return nil, false // inherited from another daemon
	}
	return watchLifeline(fd), true
})

// UnderWatchdog reports whether RunWatchdog started this process as the daemon. lost is closed
// when the watchdog has exited. If the daemon crashed after that, nothing would end its
// processes, so it has to stop them and exit. UnderWatchdog must be called before any process is
// started.
func UnderWatchdog() (lost <-chan struct{}, ok bool) { return underWatchdog() }

// NeedsWatchdog reports whether the daemon should be started by RunWatchdog: the platform has no
// other way to end orphans, and no watchdog runs yet.
func NeedsWatchdog() bool {
	_, ok := UnderWatchdog()
	return watchdogNeeded && !ok
}

// RestartStatus is the exit status of a daemon that asks the watchdog to call Reexec.
const RestartStatus = 75
