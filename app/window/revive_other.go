//go:build (desktop || bindings || dev) && !linux

package window

import "context"

// revive has nothing to do where the system's web view starts its process anew.
func revive(context.Context, func() string) {}
