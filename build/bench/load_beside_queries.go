package main

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"
)

// loadBesideQueries compares calls of 8 callers with the same calls while a computing query of the
// page, an export and a search run without a pause, on a history of 100,000 calls.
func loadBesideQueries(ctx context.Context, b *bench) ([]finding, error) {
	t, err := start(ctx, "drawbridge", b.program, targetOptions{})
	if err != nil {
		return nil, err
	}
	defer t.stop()
	c := workload{name: "500 B × 8", payload: 500, clients: 8}
	for made := 0; made < 100_000; {
		m, err := load(ctx, t, c, time.Second)
		if err != nil {
			return nil, err
		}
		made += m.calls
	}
	var ratios, alone, beside []float64
	queries := 0
	for range b.rounds {
		quiet, err := load(ctx, t, c, b.length)
		if err != nil {
			return nil, err
		}
		stop := t.queryRepeatedly(ctx)
		busy, err := load(ctx, t, c, b.length)
		n := stop()
		if err != nil {
			return nil, err
		}
		queries += n
		alone, beside = append(alone, p99Of(quiet)), append(beside, p99Of(busy))
		ratios = append(ratios, p99Of(busy)/p99Of(quiet))
	}
	v := median(ratios)
	return []finding{{"p99 of 8 callers beside a usage query, an export and a search / alone", "<= 3.00",
		fmt.Sprintf("%.2f (%s, alone %s; %d queries)", v, micro(median(beside)), micro(median(alone)), queries), v > 3}}, nil
}

// queryRepeatedly runs each of the three queries again and again until stop is called, which
// returns how many were answered.
func (t *target) queryRepeatedly(ctx context.Context) (stop func() int) {
	ctx, cancel := context.WithCancel(ctx)
	month := url.QueryEscape(time.Now().AddDate(0, 0, -30).UTC().Format(time.RFC3339))
	var running sync.WaitGroup
	answered := make([]int, 3)
	for i, path := range []string{"/api/v1/usage?from=" + month, "/api/v1/export?format=jsonl", "/api/v1/calls?text=xxxx&limit=200"} {
		running.Go(func() {
			for ctx.Err() == nil {
				if _, err := t.api(ctx, path); err == nil {
					answered[i]++
				}
			}
		})
	}
	return func() int {
		cancel()
		running.Wait()
		return answered[0] + answered[1] + answered[2]
	}
}
