//go:build desktop || bindings || dev

package window

import "sync"

// readyDescriptor is where whoever started us waits for the byte that says that a page is
// there, if readyVariable is set.
const readyDescriptor = 3

// lifecycle is what this window needs to go on when the process that draws its page dies.
type lifecycle struct {
	daemon  *daemon
	lead    *entryPage
	awaited func() bool // whoever started us still waits for a page

	mu   sync.Mutex
	past rendererCrashes
}
