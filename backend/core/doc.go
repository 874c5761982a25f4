// Package core holds the types that all packages share: servers, clients, calls, catalogs and
// errors with their codes.
//
// It contains types and their validation and no other behavior, and it imports no other package of
// this module, so that every package may import it. The words that it defines (server, upstream,
// client, call, catalog, era) are used with the same meaning in Go, JSON, SQL, the CLI and the UI;
// docs/architecture.md has the glossary.
package core
