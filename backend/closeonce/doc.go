// Package closeonce runs a shutdown function exactly once, however many goroutines request it.
//
// [Closer.Run] blocks until the shutdown is done or its context ends. Shutdowns usually wait for
// several steps in turn; [Closer.Expedite] cuts all of these waits short, now and later, as soon
// as one caller cannot wait any longer.
package closeonce
