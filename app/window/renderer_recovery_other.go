//go:build (desktop || bindings || dev) && !linux

package window

// The system's web view restarts its process without help.
func recoverRenderer(*rendererRecovery) {}

func watchPage() {}
