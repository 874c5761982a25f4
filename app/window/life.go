//go:build desktop || bindings || dev

package window

import "sync"

// life is what this window needs to go on when the process that draws its page dies.
type life struct {
	daemon  *daemon
	lead    *entrance
	awaited func() bool // whoever started us still waits for a page

	mu   sync.Mutex
	past relapses
}
