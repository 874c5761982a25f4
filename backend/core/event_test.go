package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEventsArriveInOrder(t *testing.T) {
	var b Bus
	s := b.Subscribe(8)
	defer s.Close()
	for range 5 {
		b.Publish(CatalogEvent, "files")
	}
	for want := uint64(1); want <= 5; want++ {
		require.Equal(t, want, (<-s.Events()).Seq)
	}
}

func TestSlowSubscriberIsClosed(t *testing.T) {
	var b Bus
	slow, quick := b.Subscribe(1), b.Subscribe(8)
	defer quick.Close()
	b.Publish(CatalogEvent, "a")
	b.Publish(CatalogEvent, "b")
	<-slow.Events()
	_, open := <-slow.Events()
	require.False(t, open, "a subscriber that fell behind still gets events")
	slow.Close() // a second close is harmless
	require.Truef(t, len(quick.Events()) == 2, "the quick subscriber has %d of 2 events", len(quick.Events()))
}

func TestCallEventsCarryNoPayload(t *testing.T) {
	var b Bus
	s := b.Subscribe(1)
	defer s.Close()
	b.PublishCall(&Call{ID: 7, Params: []byte(`{"secret":1}`), Capabilities: []byte(`{}`)})
	got := (<-s.Events()).Data.(Call)
	require.Truef(t, got.ID == 7 && got.Params == nil && got.Capabilities == nil, "got %+v", got)
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
	require.Equal(t, 1, len(s.Events()))
	e := <-s.Events()
	require.Equal(t, NoticeEvent, e.Kind)
	if n := testing.AllocsPerRun(100, func() { b.PublishCall(call) }); n != 0 || len(all.Events()) != 1 {
		t.Errorf("%v allocations after the last one who wants calls has gone, who got %d", n, len(all.Events()))
	}
}
