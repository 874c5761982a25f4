// Package packageversion determines which version of a package a server runs, and how its entry in the
// configuration pins one.
//
// It reads commands and arguments of npx, uvx, docker and the like, and package folders on disk. It
// queries a package registry only when the user asks for updates.
package packageversion
