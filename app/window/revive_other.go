//go:build (desktop || bindings || dev) && !linux

package window

// revive has nothing to do where the system's web view starts its process anew.
func revive() {}
