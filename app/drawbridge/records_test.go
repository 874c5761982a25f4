package main

import (
	"log/slog"
	"slices"
	"testing"

	"drawbridge/backend/history"
	"drawbridge/backend/registry"
)

// recordsFor are records without a history.
func recordsFor(views *registry.Registry) *records {
	return &records{
		judge: history.NewJudge(nil, nil, nil), keeper: newKeeper(nil), watchman: history.NewWatchman(history.Watchman{}), views: views,
	}
}

func TestRecordsStopInTheSameOrderEachTime(t *testing.T) {
	for range 20 {
		l := newLifecycle(slog.New(slog.DiscardHandler))
		recordsFor(nil).start(l)
		var names []string
		for _, c := range l.closers {
			names = append(names, c.name)
		}
		if err := l.stop(); err != nil {
			t.Fatal(err)
		}
		if want := []string{"secrets", "results", "checks"}; !slices.Equal(names, want) {
			t.Fatalf("started in the order %v", names)
		}
	}
}
