//go:build desktop || bindings || dev

package window

import "sync"

// readyDescriptor is the file descriptor to which the window writes a byte when a page has loaded,
// if readyVariable is set.
const readyDescriptor = 3

// rendererRecovery is the state that is needed to recover when the process that renders the page crashes.
type rendererRecovery struct {
	daemon  *daemon
	entry   *entryPage
	awaited func() bool // reports whether the process that started us still waits for a page

	mu   sync.Mutex
	past rendererCrashes
}
