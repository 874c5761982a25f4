//go:build race

package trust

// cleanDefinitions is the number of harmless definitions to scan. It is smaller here, because a
// scan uses a single goroutine, in which the race detector finds nothing and takes ten times as
// long.
const cleanDefinitions = 1_000
