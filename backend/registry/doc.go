// Package registry knows what all servers offer and under which names clients see it.
//
// A [View] is an immutable snapshot of one endpoint: the names, the lists in wire format, and the
// owner of each item. Writers replace views as a whole, so that a call and a list never see a
// partial change; looking up a tool takes no lock. Listeners run after the new view is visible.
package registry
