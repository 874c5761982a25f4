package core

import (
	"testing"
)

func TestEventsArriveInOrder(t *testing.T) {
	var b Bus
	s := b.Subscribe(8)
	defer s.Close()
	for range 5 {
		b.Publish(CatalogEvent, "files")
	}
	for want := uint64(1); want <= 5; want++ {
		if got := (<-s.Events()).Seq; got != want {
			t.Fatalf("event %d arrived in the place of %d", got, want)
		}
	}
}

func TestSlowSubscriberIsClosed(t *testing.T) {
	var b Bus
	slow, quick := b.Subscribe(1), b.Subscribe(8)
	defer quick.Close()
	b.Publish(CatalogEvent, "a")
	b.Publish(CatalogEvent, "b")
	<-slow.Events()
	if _, open := <-slow.Events(); open {
		t.Fatal("a subscriber that fell behind still gets events")
	}
	slow.Close() // a second close is harmless
	if len(quick.Events()) != 2 {
		t.Fatalf("the quick subscriber has %d of 2 events", len(quick.Events()))
	}
}

func TestCallEventsCarryNoPayload(t *testing.T) {
	var b Bus
	s := b.Subscribe(1)
	defer s.Close()
	b.PublishCall(&Call{ID: 7, Params: []byte(`{"secret":1}`), Capabilities: []byte(`{}`)})
	got := (<-s.Events()).Data.(Call)
	if got.ID != 7 || got.Params != nil || got.Capabilities != nil {
		t.Fatalf("got %+v", got)
	}
}

func TestPublishWithoutSubscribersAllocatesNothing(t *testing.T) {
	var b Bus
	call := &Call{ID: 1}
	if n := testing.AllocsPerRun(100, func() { b.PublishCall(call) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestSubscriptionReceivesOnlyItsKinds(t *testing.T) {
	var b Bus
	s := b.Subscribe(8, ServerEvent, NoticeEvent)
	defer s.Close()
	call := &Call{ID: 1}
	if n := testing.AllocsPerRun(100, func() { b.PublishCall(call) }); n != 0 {
		t.Errorf("%v allocations for calls that nobody wants", n)
	}
	b.Publish(CatalogEvent, "files")
	b.Publish(NoticeEvent, Notice{Subject: "history"})
	all := b.Subscribe(8)
	b.PublishCall(call)
	all.Close()
	if n := len(s.Events()); n != 1 {
		t.Fatalf("%d events", n)
	}
	if e := <-s.Events(); e.Kind != NoticeEvent {
		t.Fatalf("got %+v", e)
	}
	if n := testing.AllocsPerRun(100, func() { b.PublishCall(call) }); n != 0 || len(all.Events()) != 1 {
		t.Errorf("%v allocations after the last one who wants calls has gone, who got %d", n, len(all.Events()))
	}
}
