package window

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A page whose process dies is loaded anew; a window that WebKit ends, as it does when that
// process dies at its birth, begins anew in its own place. Both count together: five times
// a minute, and then the user gets the page in the browser instead.
const (
	mostRelapses   = 5
	relapsesWithin = time.Minute
)

// rendererCrashes are the times of the deaths that are remembered, oldest first.
type rendererCrashes []time.Time

// record notes a death at now and reports whether to try once more.
func (r *rendererCrashes) record(now time.Time) bool {
	*r = slices.DeleteFunc(*r, func(t time.Time) bool { return now.Sub(t) >= relapsesWithin || t.After(now) })
	if len(*r) >= mostRelapses {
		return false
	}
	*r = append(*r, now)
	return true
}

// What a window that begins anew is told of its life before.
const relapsesVariable = "DRAWBRIDGE_WINDOW_RELAPSES"

func (r rendererCrashes) String() string {
	parts := make([]string, len(r))
	for i, t := range r {
		parts[i] = strconv.FormatInt(t.UnixMilli(), 10)
	}
	return strings.Join(parts, ",")
}

// parseRendererCrashes reads what String wrote; what is no time is left out.
func parseRendererCrashes(text string) (r rendererCrashes) {
	for _, part := range strings.SplitN(text, ",", 2*mostRelapses) {
		if ms, err := strconv.ParseInt(part, 10, 64); err == nil {
			r = append(r, time.UnixMilli(ms))
		}
	}
	return r
}

// restartEnvironment is the environment of a window that begins anew: it knows where its daemon is and
// asks it for a code of its own. awaited says that whoever started it still waits for a page.
func restartEnvironment(env []string, base, data string, past rendererCrashes, awaited bool) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == urlVariable || name == dataVariable || name == relapsesVariable || name == readyVariable
	})
	env = append(env, urlVariable+"="+base, dataVariable+"="+data, relapsesVariable+"="+past.String())
	if awaited {
		env = append(env, readyVariable+"=1")
	}
	return env
}
