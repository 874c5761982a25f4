//go:build !desktop && !bindings && !dev

package window

import (
	"fmt"
	"os"
)

// Main reports that this build has no window: it was built without the tags that include Wails, so
// that everything compiles on a machine without GTK.
func Main() {
	fmt.Fprintln(os.Stderr, "drawbridge-window: this build has no window; build it with \"make build\", or open the URL that \"drawbridge open --print\" shows")
	os.Exit(exitNoWindow)
}
