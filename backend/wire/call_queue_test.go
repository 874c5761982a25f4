package wire

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestFullQueueWaitsForSinkUntilTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFlight(1, nil)
		done := make(chan struct{})
		fill := func() {
			for range maxQueued {
				if !f.offer(inbound{kind: inNotify}, done) {
					t.Fatal("refused before the queue is full")
				}
			}
		}
		fill()
		go func() {
			<-time.After(patience / 2)
			f.take(nil)
		}()
		if !f.offer(inbound{kind: inNotify}, done) {
			t.Fatal("dropped although the sink took the queue in time")
		}
		f.take(nil)
		fill()
		began := time.Now()
		if f.offer(inbound{kind: inNotify}, done) || time.Since(began) != patience/2 {
			t.Errorf("waited %v, and half of the patience was left", time.Since(began))
		}
		if began = time.Now(); f.offer(inbound{kind: inNotify}, done) || time.Since(began) != 0 {
			t.Errorf("waited %v without patience", time.Since(began))
		}
		if !f.offer(inbound{kind: inReply}, done) {
			t.Error("the reply does not fit")
		}
	})
}
