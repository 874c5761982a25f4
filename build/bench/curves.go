package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// point is one measurement of a curve.
type point struct {
	x    int
	rate float64       // calls per second
	p99  time.Duration // of a call
	rss  int64         // bytes, of the daemon
	p50  time.Duration // of a call
}

// curve shows how the cost of a call grows with x.
type curve struct {
	name string
	what string // label of the horizontal axis
	xs   []int
	// growing: x is the number of calls in the history, which measuring increases.
	growing bool
	at      func(ctx context.Context, b *bench, x int) (*target, workload, error)
}

var curves = []curve{
	{"clients", "clients", []int{1, 4, 16, 64, 256, 1000}, false, func(ctx context.Context, b *bench, x int) (*target, workload, error) {
		t, err := start(ctx, "drawbridge", b.program, targetOptions{})
		return t, workload{payload: 60, clients: x, modern: true}, err
	}},
	{"servers", "servers with ten tools each, called in turn by 64 clients", []int{1, 10, 50, 100, 200}, false, func(ctx context.Context, b *bench, x int) (*target, workload, error) {
		t, err := b.startWithTools(ctx, x, 10)
		return t, workload{payload: 60, clients: 64, modern: true, canned: true, tools: firstTools(x)}, err
	}},
	{"tools", "tools, at most 1,000 of each server; 64 clients call one server", []int{10, 100, 1000, 10_000}, false, func(ctx context.Context, b *bench, x int) (*target, workload, error) {
		t, err := b.startWithTools(ctx, max(x/1000, 1), min(x, 1000))
		return t, workload{payload: 60, clients: 64, modern: true, canned: true, tools: firstTools(1)}, err
	}},
}

// firstTools returns the public name of one tool of each of n servers.
func firstTools(n int) []string {
	list := make([]string, n)
	for i := range n {
		list[i] = fmt.Sprintf("s%d__tool_0", i)
	}
	return list
}

// startWithTools starts a daemon and waits until all tools of n servers are listed.
func (b *bench) startWithTools(ctx context.Context, n, tools int) (*target, error) {
	t, err := launch(ctx, b.program, targetOptions{servers: toolServers(n, tools)})
	if err != nil {
		return nil, err
	}
	if err := pollUntil(ctx, 3*time.Minute, "the tools were not listed", func() bool { return t.readAddress() && t.toolCount(ctx) == n*tools }); err != nil {
		t.stop()
		return nil, err
	}
	return t, nil
}

// rowsCurve measures one daemon while its history grows: it makes calls until the history has x
// rows. stop ends the daemon.
func rowsCurve() (c curve, stop func()) {
	var grown *target
	c = curve{"rows", "calls in the history; 64 clients call", []int{10_000, 100_000, 1_000_000, 10_000_000}, true, func(ctx context.Context, b *bench, x int) (*target, workload, error) {
		calls := workload{payload: 60, clients: 64, modern: true}
		if grown == nil {
			t, err := start(ctx, "drawbridge", b.program, targetOptions{unlimited: true})
			if err != nil {
				return nil, workload{}, err
			}
			grown = t
		}
		t := *grown
		t.stop = func() {} // the next point continues with this history
		return &t, calls, fillHistory(ctx, &t, calls, x)
	}}
	return c, func() {
		if grown != nil {
			grown.stop()
		}
	}
}

// fillHistory makes calls until the history has about n of them.
func fillHistory(ctx context.Context, t *target, calls workload, n int) error {
	length := 200 * time.Millisecond
	for {
		before, err := t.recordedCalls(ctx)
		if err != nil || before >= n {
			return err
		}
		m, err := load(ctx, t, calls, length)
		if err != nil {
			return err
		}
		if _, err := t.droppedCalls(ctx); err != nil {
			return err
		}
		missing := float64(n - before - m.calls)
		length = min(max(time.Duration(missing/m.rate*float64(time.Second)), 50*time.Millisecond), 10*time.Second)
	}
}

// drawCurves measures all curves that were requested and writes one picture of each to folder.
func (b *bench) drawCurves(ctx context.Context, folder string) error {
	rows, stop := rowsCurve()
	defer stop()
	for _, c := range append(slices.Clone(curves), rows) {
		if !b.wants(c.name) {
			continue
		}
		var points []point
		fmt.Printf("| %s | calls/s | p50 | p99 | RSS |\n|---|---|---|---|---|\n", c.what)
		for _, x := range c.xs {
			p, err := b.measurePoint(ctx, c, x)
			if err != nil {
				return fmt.Errorf("%s %d: %w", c.name, x, err)
			}
			fmt.Printf("| %d | %.0f | %s | %s | %.0f MB |\n", p.x, p.rate, micro(float64(p.p50)), micro(float64(p.p99)), mega(p.rss))
			points = append(points, p)
		}
		fmt.Println()
		if err := os.WriteFile(filepath.Join(folder, "cost-by-"+c.name+".svg"), drawCurve(c.what, points), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// measurePoint loads one daemon b.rounds times and returns the medians.
func (b *bench) measurePoint(ctx context.Context, c curve, x int) (point, error) {
	t, cell, err := c.at(ctx, b, x)
	if err != nil {
		return point{}, err
	}
	defer t.stop()
	length := b.length
	if c.growing {
		length = min(length, time.Duration(x)*time.Second/20_000) // adds no more than about x calls
	} else if _, err := load(ctx, t, cell, length/2); err != nil {
		return point{}, err
	}
	var rates, p50s, p99s []float64
	for made := 0; len(rates) < b.rounds && (!c.growing || made < x/2); {
		m, err := load(ctx, t, cell, length)
		if err != nil {
			return point{}, err
		}
		made += m.calls
		rates, p50s, p99s = append(rates, m.rate), append(p50s, p50Of(m)), append(p99s, p99Of(m))
	}
	rss := memoryOf(t.pid).rss
	if lost, err := t.droppedCalls(ctx); err != nil || lost > 0 {
		return point{}, fmt.Errorf("%d calls were not recorded: %w", lost, err)
	}
	return point{x: x, rate: median(rates), p50: time.Duration(median(p50s)), p99: time.Duration(median(p99s)), rss: rss}, nil
}
