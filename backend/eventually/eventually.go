// Package eventually lets tests wait for a condition that another goroutine or process brings
// about. Tests must pass on a busy machine, so they wait for conditions and never for a fixed
// time. Only tests import it.
package eventually

import (
	"testing"
	"time"
)

// Limit is how long True waits. It is far longer than any condition takes even on a busy machine:
// a test that reaches it has failed.
const Limit = time.Minute

// maxInterval is the longest pause between two checks of a condition. The first ones are shorter.
const maxInterval = 20 * time.Millisecond

// True waits until ok returns true. After Limit it fails the test, and names what did not happen.
func True(t testing.TB, what string, ok func() bool) {
	t.Helper()
	TrueWithin(t, Limit, what, ok)
}

// TrueWithin is True with a limit of its own, for tests that assert a guaranteed time.
func TrueWithin(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	Complete(t, limit, func() string {
		if ok() {
			return ""
		}
		return what
	})
}

// Complete waits until missing returns "". After limit it fails the test with the last result,
// which says what is still missing.
func Complete(t testing.TB, limit time.Duration, missing func() string) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, maxInterval) {
		what := missing()
		if what == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("condition not met within %s: %s", limit, what)
		}
		time.Sleep(pause)
	}
}

// Receive returns the next value of ch, or the zero value if ch is closed. After limit it fails the
// test, and names what did not happen.
func Receive[T any](t testing.TB, limit time.Duration, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(limit):
		t.Fatalf("nothing received within %s: %s", limit, what)
		panic("unreachable")
	}
}
