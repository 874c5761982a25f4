// Package process runs a child process and is responsible for its whole process tree.
//
// Three mechanisms cover the tree on Linux, each for what escapes the one before: the process
// group, the child subreaper (orphans become our children), and the environment variable
// DRAWBRIDGE_SERVER, which descendants inherit. If the daemon is killed, its watchdog
// ([RunWatchdog], the same binary as its parent) kills what is left; if both are killed, the next
// start does so by the ledger and the variable ([Spawner.EndOrphans]). On macOS the variable is
// searched among all processes of the user; on Windows a Job Object contains the tree. The
// package knows nothing of servers or MCP.
package process
