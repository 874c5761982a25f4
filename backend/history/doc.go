// Package history works with recorded calls: it replays them, compares two of them, exports them,
// and checks that a call that worked still works.
//
// The store keeps the calls, and the gateway makes new ones. Exports contain what the store has,
// which is redacted; nothing here reads a secret.
package history
