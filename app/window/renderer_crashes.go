package window

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A page is reloaded after its process crashes. The window is restarted if WebKit ends it, which
// happens when that process crashes at its start. Both count together: after five crashes within a
// minute the page is opened in the browser instead.
const (
	maxCrashes    = 5
	crashInterval = time.Minute
)

// rendererCrashes are the times of recent crashes, oldest first.
type rendererCrashes []time.Time

func (r *rendererCrashes) record(now time.Time) bool {
	*r = slices.DeleteFunc(*r, func(t time.Time) bool { return now.Sub(t) >= crashInterval || t.After(now) })
	if len(*r) >= maxCrashes {
		return false
	}
	*r = append(*r, now)
	return true
}

// crashesVariable passes the times of recent crashes to a restarted window.
const crashesVariable = "DRAWBRIDGE_WINDOW_CRASHES"

func (r rendererCrashes) String() string {
	parts := make([]string, len(r))
	for i, t := range r {
		parts[i] = strconv.FormatInt(t.UnixMilli(), 10)
	}
	return strings.Join(parts, ",")
}

// parseRendererCrashes parses the result of String and skips invalid times.
func parseRendererCrashes(text string) (r rendererCrashes) {
	for _, part := range strings.SplitN(text, ",", 2*maxCrashes) {
		if ms, err := strconv.ParseInt(part, 10, 64); err == nil {
			r = append(r, time.UnixMilli(ms))
		}
	}
	return r
}

// restartEnvironment returns the environment of a restarted window: it knows the folder of its
// daemon and requests a new code. awaited means that the process that started it still waits for a
// page.
func restartEnvironment(env []string, base, data string, past rendererCrashes, awaited bool) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == urlVariable || name == dataVariable || name == crashesVariable || name == readyVariable
	})
	env = append(env, urlVariable+"="+base, dataVariable+"="+data, crashesVariable+"="+past.String())
	if awaited {
		env = append(env, readyVariable+"=1")
	}
	return env
}
