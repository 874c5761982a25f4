//go:build !linux

package loopback

func holder(uint16) string { return "" }
