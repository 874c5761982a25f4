package osutil

import (
	"regexp"
	"sync"
)

// LazyRegexp returns a function that compiles text on its first call and returns the same
// expression from then on. The function is safe for concurrent use; it panics if text is not
// a valid expression.
func LazyRegexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
