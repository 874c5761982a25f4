// Package updates finds out whether a newer release of Drawbridge exists.
//
// [Checker.Run] reads a small signed document from the configured address at most once a day, and
// publishes a notice if the version in it is newer. It sends nothing about the user or the machine,
// and never downloads or installs a program. Nothing is read unless the user switched it on.
//
// [ReplacementWatcher.Run] notices that the user, or a package manager, installed another version
// over the running one, and restarts the daemon when nothing runs.
package updates
