//go:build race

package store

// slow means that the race detector makes tests several times slower.
const slow = true
