// Package lazyregexp compiles regular expressions on first use.
//
// A compiled expression takes tens of kilobytes and part of a millisecond; compiling all of them
// at start-up would cost every process, including each shim. The function that [New] returns panics on
// its first call if the expression is invalid.
package lazyregexp
