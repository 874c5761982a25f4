// Package supervisor decides which servers run, and keeps them running.
//
// Each server has one goroutine that owns its state (runner); the pure function next computes the
// transitions. [Supervisor.Apply] starts, restarts and stops what a new configuration changed.
// Other goroutines read immutable snapshots, so that finding the upstream of a call takes no lock.
// The package does not know how a server is started or reached: package upstream does.
package supervisor
