// Package sandbox confines programs to files and TCP ports with the Landlock interface of Linux
// (https://docs.kernel.org/userspace-api/landlock.html). RulesFor computes the default rules of one
// program, Unsupported says what the system cannot enforce of them, and Wrap changes a command so
// that it is confined before it runs. The package starts no programs itself, and on systems without
// Landlock it only says so.
//
// DestinationSampler observes where the processes of servers connect to. On Linux it samples the
// socket tables of the kernel and finds the owner of each new socket in the process trees of the
// servers. It needs no privileges. Connections that begin and end between two samples are missed.
package sandbox
