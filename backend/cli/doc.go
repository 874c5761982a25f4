// Package cli is the command line of Drawbridge, built on cobra.
//
// [Run] parses the arguments and runs one command. Commands talk to the running daemon through its
// HTTP API; a few also work without one (add, token, logs, test). Output is either text for a
// terminal or, with --json, the document of the API. Exit codes are 0 for success, 1 for a
// failure and 2 for invalid usage. Text of servers is escaped before it reaches a terminal.
package cli
