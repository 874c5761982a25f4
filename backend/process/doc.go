// Package process runs one child process and answers for its whole tree: what
// the child forks, what that forks, and what tries to get away.
//
// Three nets hold a tree on Linux, each for what slips through the one before:
//
//	process group     the child leads its own, so that one signal reaches npx, sh and node
//	descendants       we are a child subreaper: what loses its parent becomes our child
//	environment mark  every child carries DRAWBRIDGE_SERVER, inherited by what it starts,
//	                  so that even a daemon with its own session is known by its server
//
// When the daemon itself is killed, its watchdog (the same binary, its parent)
// inherits all that is left and ends it; see RunWatchdog. When both are killed,
// the next start finds the rest by the mark and by the ledger; see Spawner.Sweep.
//
// macOS has no subreaper: there the mark is searched among all processes of the
// person. On Windows a Job Object holds each tree and the kernel does the rest.
//
// The package knows nothing of servers or MCP and imports nothing of ours.
package process
