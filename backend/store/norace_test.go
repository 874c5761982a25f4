//go:build !race

package store

const slow = false
