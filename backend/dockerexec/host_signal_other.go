//go:build !linux

package dockerexec

// signalFromHost can do nothing: containers run inside a virtual machine here.
func signalFromHost(int, string, string) bool { return false }
