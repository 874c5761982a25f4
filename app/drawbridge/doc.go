// Command drawbridge is the daemon, its command line and the stdio shim in one static binary.
//
// This package is the only place that connects the other packages: runDaemon opens and starts
// the parts in order, and lifecycle stops them in the reverse order. Files named after a feature
// (sign_ins.go, telemetry.go, trust.go) pass new configurations on to that feature. It never
// imports Wails: the window is a separate program.
package main
