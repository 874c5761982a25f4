// Package cli is the command line of Drawbridge, built on cobra.
//
// [Main] parses the arguments and runs one command. The features own their commands; this package has
// those about the whole program. Commands talk to the running daemon through its
// HTTP API; a few also work without one (add, token, logs, test). Output is either text for a
// terminal or, with --json, the document of the API. Exit codes are 0 for success, 1 for a
// failure and 2 for invalid usage. Text of servers is escaped before it reaches a terminal.
//
// Commands that show a change, ask and apply it share confirm, but no generic runner, because it
// would take a function for each step: they differ in what they show, and in what they do without a
// terminal (confirm fails, prune and backup restore go on, versions update changes nothing).
package cli
