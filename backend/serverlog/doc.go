// Package serverlog stores the stderr output and the lifecycle events of servers: the most recent
// lines in memory, more of them in rotated files.
//
// [Logs.Writer] receives stderr; it never blocks and never fails. Everything is bounded, because
// servers are untrusted: line length, lines per second, memory and files. Lines are stored with
// control characters; [Clean] makes a line safe to display.
package serverlog
