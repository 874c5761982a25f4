// Package reload keeps the configuration of the running program up to date and edits its files.
//
// [Reloader.Run] watches the files. A change passes through these steps:
//
//	file > debounce > Load > keep broken servers > Equal > Apply > save last good > publish
//
// An invalid edit stops nothing. If a file cannot be read, the whole configuration remains in
// effect; if one server is invalid, that server keeps its previous configuration. Both are
// reported with file, line and column. Edits made by the page and the CLI preserve comments and
// order, and never overwrite a concurrent change.
package reload
