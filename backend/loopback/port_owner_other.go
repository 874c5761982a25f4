//go:build !linux

package loopback

func portOwner(uint16) string { return "" }
