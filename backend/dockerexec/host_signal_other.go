//go:build !linux

package dockerexec

// signalFromHost does nothing: containers run in a virtual machine here.
func signalFromHost(int, string, string) bool { return false }
