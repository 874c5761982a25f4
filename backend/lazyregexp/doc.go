// Package lazyregexp compiles regular expressions on first use.
//
// A compiled expression takes tens of kilobytes and part of a millisecond; compiling all of them
// at start-up would cost every process, including each shim. [New] panics on first use if the
// expression is invalid; a test compiles all of them.
package lazyregexp
