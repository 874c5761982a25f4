// Package reexec makes this program confine itself and then execute another one in its place. The
// confinement delays each start of a confined server, so it happens while packages are initialized,
// and before most of them: this package imports only packages that are initialized early.
package reexec

// Variable is the environment variable that asks for it. Its value is the one of GOMAXPROCS for the command to
// execute, which is in the arguments; "" for none.
const Variable = "DRAWBRIDGE_SANDBOX"

// Descriptor is the first one that a child inherits in addition to the standard ones: a socket from which
// it receives one message with the rules of Landlock, as a descriptor, and the seccomp filter, or nothing if
// there is none.
const Descriptor = 3

// Failed is the exit status of a program that could not be confined.
const Failed = 126
