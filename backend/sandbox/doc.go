// Package sandbox confines programs to files and TCP ports with the Landlock interface of Linux
// (https://docs.kernel.org/userspace-api/landlock.html). RulesFor computes the default rules of one
// program, Unsupported says what the system cannot enforce of them, and Wrap changes a command so
// that it is confined before it runs. The package starts no programs itself, and on systems without
// Landlock it only says so.
package sandbox
