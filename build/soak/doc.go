// Package soak puts a running Drawbridge under fire and holds it to its promises: many
// clients call many servers, some of them hostile, while servers crash and stand still, the
// configuration changes, clients come and go without a word, clocks jump, and queues are
// full. Every call must be answered exactly once, and what the program holds of the
// system must be at the end what it was at the beginning.
//
// The driver knows a Drawbridge by its address only. Who starts it compares the history
// with Report.Clients afterwards.
package soak
