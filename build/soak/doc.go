// Package soak loads a running Drawbridge and checks its promises: many clients call many servers,
// some of them hostile, while servers crash and hang, the configuration changes, clients disconnect
// without notice, clocks jump and queues are full. Every call must be answered exactly once, and
// the resource usage at the end must be that at the beginning.
//
// Run executes a Plan and returns a Report. It knows only the address and the process id of the
// daemon. The caller compares the history with Report.Clients.
package soak
