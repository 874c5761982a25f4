// Package serverlog stores the stderr of servers and the events of their lives: the last lines in
// memory, more of them in rotated files.
//
// [Log.Writer] receives stderr; it never blocks and never fails the server. Everything is bounded,
// because servers are untrusted: line length, lines per second, memory and files. Lines are stored
// unchanged, control characters included; [Clean] makes one safe to show.
package serverlog
