package wire

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestFullQueueWaitsForSinkUntilTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pc := newPendingCall(1, nil)
		done := make(chan struct{})
		fill := func() {
			for range maxQueued {
				if !pc.enqueue(inbound{kind: inboundNotification}, done) {
					t.Fatal("refused before the queue is full")
				}
			}
		}
		fill()
		go func() {
			<-time.After(sinkTimeout / 2)
			pc.dequeueAll(nil)
		}()
		if !pc.enqueue(inbound{kind: inboundNotification}, done) {
			t.Fatal("dropped although the sink took the queue in time")
		}
		pc.dequeueAll(nil)
		fill()
		began := time.Now()
		if pc.enqueue(inbound{kind: inboundNotification}, done) || time.Since(began) != sinkTimeout/2 {
			t.Errorf("waited %v, and half of the patience was left", time.Since(began))
		}
		if began = time.Now(); pc.enqueue(inbound{kind: inboundNotification}, done) || time.Since(began) != 0 {
			t.Errorf("waited %v without patience", time.Since(began))
		}
		if !pc.enqueue(inbound{kind: inboundReply}, done) {
			t.Error("the reply does not fit")
		}
	})
}
