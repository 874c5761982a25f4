//go:build (desktop || bindings || dev) && !linux

package window

// The system's web view starts its process anew by itself.
func recoverRenderer(*lifecycle) {}

func watchPage() {}
