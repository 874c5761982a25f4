// Command mcpserver runs one of the test servers of package mcptest on standard
// input and output: mcpserver MODE. It ignores further arguments, by which a test can
// find the process.
package main

import (
	"fmt"
	"os"
	"sort"

	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
)

func main() {
	if len(os.Args) >= 2 {
		mcptest.Main(os.Args[1])
	}
	fmt.Fprintln(os.Stderr, "usage: mcpserver MODE")
	modes := mcptest.Modes()
	names := make([]string, 0, len(modes))
	for name := range modes {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(os.Stderr, "  %-16s %s\n", name, modes[name])
	}
	os.Exit(2)
}
