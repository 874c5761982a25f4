// Package osutil has what the standard library lacks about files, processes and the network: atomic
// writes and locks of files, programs without a console, changes of the network, operations that run
// once, and regular expressions that are compiled when they are used. It knows nothing of MCP.
package osutil
