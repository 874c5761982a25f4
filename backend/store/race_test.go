//go:build race

package store

// slow says that the race detector makes everything take several times longer.
const slow = true
