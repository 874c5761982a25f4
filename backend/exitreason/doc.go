// Package exitreason explains why a server did not start or why it exited.
//
// [DecisiveLine] picks the decisive line of its stderr, [Explain] combines it with the exit, and [Advice] suggests what the user can do: install
// a program, set a variable, log in. Both accept any text, of any size, and never fail.
package exitreason
