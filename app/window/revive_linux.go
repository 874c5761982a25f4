//go:build desktop || bindings || dev

package window

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// webProcess is the name of the process that draws the page, as the kernel cuts it.
const webProcess = "WebKitWebProces"

// revive starts the window anew when the process that draws the page has died: Wails
// would show a frozen page for ever. It runs until ctx ends.
func revive(ctx context.Context, address func() string) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	seen, missing := false, 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if hasChild(webProcess) {
			seen, missing = true, 0
			continue
		}
		if missing++; !seen || missing < 2 {
			continue
		}
		self, err := os.Executable()
		if err != nil {
			return
		}
		fmt.Fprintln(os.Stderr, "drawbridge-window: the process that draws the page died; starting anew")
		env := append(os.Environ(), "DRAWBRIDGE_WINDOW_URL="+address())
		err = syscall.Exec(self, os.Args, env)
		fmt.Fprintln(os.Stderr, "drawbridge-window: cannot start anew:", err)
		return
	}
}

// hasChild reports whether a living child of ours has this name.
func hasChild(name string) bool {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		pids, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for pid := range strings.FieldsSeq(string(pids)) {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil {
				continue
			}
			_, rest, _ := strings.Cut(string(stat), "(")
			comm, rest, ok := strings.Cut(rest, ") ")
			if ok && comm == name && !strings.HasPrefix(rest, "Z") {
				return true
			}
		}
	}
	return false
}
