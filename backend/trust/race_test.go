//go:build race

package trust

// cleanDefinitions is how many are scanned: here, scanning is one goroutine's work, in which
// the race detector finds nothing and takes ten times as long.
const cleanDefinitions = 1_000
