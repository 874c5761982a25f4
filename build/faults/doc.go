// Package faults runs the built program under a tracer that fails one system call at a time: the first, the
// second, ... of each kind, in short scenarios. After each failure the program must live or say why it ended,
// and nothing may be lost or torn. Run it with make test-faults, and make soak parts=faults for every call.
package faults
