// Package reload keeps the configuration of the running program current and edits its files.
//
// [Reloader.Run] watches the files. The path of a change is:
//
//	file > debounce > Load > keep broken servers as they were > Equal > Apply > save last good > publish
//
// An invalid edit stops nothing: a file that cannot be read keeps the whole configuration as it
// was, one invalid server keeps that server as it was, and both are reported with file, line and
// column. Edits of the page and the CLI keep comments and order, and never overwrite a concurrent
// change.
package reload
