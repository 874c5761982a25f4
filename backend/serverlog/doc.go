// Package serverlog keeps what servers write to stderr and what happens to them:
// the last lines in memory, more of them in rotated files. Everything is bounded,
// because a server is a stranger: the length of a line, lines per second, the
// memory, the files. Writing never blocks and never fails the server.
//
// Lines are stored as they came, control characters included. Clean makes one
// safe to show.
package serverlog
