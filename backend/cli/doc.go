// Package cli holds the commands: most call the daemon's API, a few work without
// a daemon. The stdio shim is package shim, and the clients' own files are edited
// by package clientconf; the commands of the same names only call them.
package cli
