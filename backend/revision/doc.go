// Package revision decides what clients of each MCP revision can read. Servers and clients of all
// revisions meet at the bridge, and a client that cannot read one item of a list refuses the whole
// list, with the items of all other servers.
//
// [Check] compares an item of a list with the schemas that the specification publishes, and with
// what widespread clients require beyond them (schemas/clients.json). It repairs what can be
// repaired without guessing. [ForLegacy] and [WrapOutput] convert tools and results of MCP
// 2026-07-28 for older clients. All functions are pure.
package revision
