// Package updates finds out whether a newer release of Drawbridge exists.
//
// [Checker.Run] reads a small signed document from the configured address at most once a day, and
// publishes a notice if the version in it is newer. It sends nothing about the user or the machine,
// and never downloads or installs a program. Nothing is read unless the user switched it on.
package updates
