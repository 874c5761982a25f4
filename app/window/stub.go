//go:build !desktop && !bindings && !dev

package window

import (
	"fmt"
	"os"
)

// Main says that this build has no window: it was made without the build tags that
// bring in Wails, so that the whole tree builds on a machine without GTK.
func Main() {
	fmt.Fprintln(os.Stderr, "drawbridge-window: built without the window; use make build, or open the address that drawbridge open --print shows")
	os.Exit(noWindow)
}
