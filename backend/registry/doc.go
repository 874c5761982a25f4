// Package registry holds the catalogs of all servers and computes the names under which clients
// see their items.
//
// A [View] is an immutable snapshot of what one endpoint offers: the names, the lists in wire
// format, and the owner of each item. Writers replace views atomically, so a call or a list
// request never sees a partial change, and looking up a tool takes no lock. Listeners run after
// the new view is visible.
package registry
