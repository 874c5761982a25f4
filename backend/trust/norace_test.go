//go:build !race

package trust

// cleanDefinitions is how many are scanned.
const cleanDefinitions = 10_000
