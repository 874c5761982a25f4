// Package pattern has regular expressions that are compiled when they are first used.
// A compiled one takes tens of kilobytes and some of a millisecond, and every process of
// ours, the shims too, would pay for all of them at its start.
package pattern

import (
	"regexp"
	"sync"
)

// Lazily returns a function for the regular expression that text is. It may be called
// by any number of goroutines; a text that is no expression panics at the first call.
func Lazily(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
