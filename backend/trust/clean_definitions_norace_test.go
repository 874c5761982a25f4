//go:build !race

package trust

// cleanDefinitions is the number of harmless definitions to scan.
const cleanDefinitions = 10_000
