// Package mcptest contains MCP servers for tests: well-behaved, unusual and hostile ones.
//
// Each is a mode that runs in the process of the test over pipes ([Start]) or as a process of its
// own: a test binary that runs itself calls [MainIfAsked] first, and the program mcpserver takes
// the mode as its argument. The servers write their bytes literally, so that a test can state
// exactly what must arrive. The package is never part of a release.
package mcptest
