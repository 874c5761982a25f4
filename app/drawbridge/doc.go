// Command drawbridge is the daemon, its command line and the stdio shim in one static binary.
//
// This package is the only place that connects the other packages: runDaemon opens and starts
// the parts in order, and lifecycle stops them in the reverse order. Files named after a feature
// (sign_ins.go, telemetry.go, trust_wiring.go) pass new configurations on to that feature. Those
// called _wiring or _options only construct it with what it needs. The package never imports
// Wails: the window is a separate program.
package main
