package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// workload is one workload.
type workload struct {
	name    string
	payload int // bytes of the argument, which the response echoes
	clients int
	modern  bool
	goals   []goal
	canned  bool     // the response is the same for every call
	tools   []string // the callers use these tools in turn; nil means the tool of the side
}

// large reports whether the payloads in flight do not fit into the memory goal, so that callers
// have to wait for each other.
func (c *workload) large() bool { return c.payload*c.clients >= 64<<20 }

// lengthOf returns the length of one measurement. Each caller of a large workload makes only a few
// calls per second.
func (b *bench) lengthOf(c workload) time.Duration {
	if c.large() {
		return 3 * b.length
	}
	return b.length
}

// goal is the target for a ratio to the floor.
type goal struct {
	of    string // name of the compared figure
	value func(measurement) float64
	most  float64 // 0 means no upper bound
	least float64
}

func p50Of(m measurement) float64  { return float64(m.p50) }
func p99Of(m measurement) float64  { return float64(m.p99) }
func rateOf(m measurement) float64 { return m.rate }

func p50AtMost(f float64) goal   { return goal{of: "p50 / F", value: p50Of, most: f} }
func p99AtMost(f float64) goal   { return goal{of: "p99 / F", value: p99Of, most: f} }
func rateAtLeast(f float64) goal { return goal{of: "calls/s / F", value: rateOf, least: f} }

var workloads = []workload{
	{name: "60 B × 1", payload: 60, clients: 1, goals: []goal{p50AtMost(1.35), p99AtMost(2.5)}},
	{name: "60 B × 1 modern", payload: 60, clients: 1, modern: true, goals: []goal{p50AtMost(1.35), p99AtMost(2.5)}},
	{name: "60 B × 8", payload: 60, clients: 8},
	{name: "60 B × 8 modern", payload: 60, clients: 8, modern: true},
	{name: "60 B × 64", payload: 60, clients: 64, goals: []goal{rateAtLeast(0.6)}},
	{name: "60 B × 64 modern", payload: 60, clients: 64, modern: true, goals: []goal{rateAtLeast(0.6)}},
	{name: "10 KB × 1", payload: 10 << 10, clients: 1, goals: []goal{p50AtMost(1.6)}},
	{name: "10 KB × 1 modern", payload: 10 << 10, clients: 1, modern: true, goals: []goal{p50AtMost(1.6)}},
	{name: "10 KB × 8", payload: 10 << 10, clients: 8, goals: []goal{rateAtLeast(0.45)}},
	{name: "10 KB × 8 modern", payload: 10 << 10, clients: 8, modern: true, goals: []goal{rateAtLeast(0.45)}},
	{name: "10 KB × 64", payload: 10 << 10, clients: 64},
	{name: "10 KB × 64 modern", payload: 10 << 10, clients: 64, modern: true},
	{name: "1 MB × 1", payload: 1 << 20, clients: 1, goals: []goal{p50AtMost(2.2)}},
	{name: "1 MB × 1 modern", payload: 1 << 20, clients: 1, modern: true, goals: []goal{p50AtMost(2.2)}},
	{name: "1 MB × 8", payload: 1 << 20, clients: 8},
	{name: "1 MB × 8 modern", payload: 1 << 20, clients: 8, modern: true},
	{name: "1 MB × 64", payload: 1 << 20, clients: 64, goals: []goal{p99AtMost(2)}},
	{name: "1 MB × 64 modern", payload: 1 << 20, clients: 64, modern: true, goals: []goal{p99AtMost(2)}},
	{name: "1 MB × 256 modern", payload: 1 << 20, clients: 256, modern: true},
	{name: "4 MB × 64", payload: 4_000_000, clients: 64}, // the limit is 4 MiB with the rest of the message
}

// workloadComparison contains the measurements of a workload on both sides, by round.
type workloadComparison struct {
	workload
	floor, ours []measurement
}

// measure runs a workload on the floor and on Drawbridge alternately.
func (b *bench) measure(ctx context.Context, c workload) (workloadComparison, error) {
	r := workloadComparison{workload: c}
	for round := range b.rounds {
		for _, side := range []string{"floor", "drawbridge"} {
			m, err := b.measureSide(ctx, side, c, targetOptions{})
			if err != nil {
				return r, fmt.Errorf("%s, round %d: %w", side, round+1, err)
			}
			if side == "floor" {
				r.floor = append(r.floor, m)
			} else {
				r.ours = append(r.ours, m)
			}
		}
		fmt.Fprintf(os.Stderr, "%s, round %d: p50 ratio %.2f, calls/s ratio %.2f, CPU per call %s and %s\n", c.name, round+1,
			p50Of(r.ours[round])/p50Of(r.floor[round]), r.ours[round].rate/r.floor[round].rate,
			micro(float64(r.floor[round].cpu)), micro(float64(r.ours[round].cpu)))
	}
	return r, nil
}

// measureSide starts one side, warms it up, loads it and stops it.
func (b *bench) measureSide(ctx context.Context, side string, c workload, s targetOptions) (measurement, error) {
	program, runs := b.program, side
	if side == "floor" && b.before != "" {
		program, runs = b.before, "drawbridge"
	}
	target, err := start(ctx, runs, program, s)
	if err != nil {
		return measurement{}, err
	}
	defer target.stop()
	length := b.lengthOf(c)
	warm, err := load(ctx, target, c, length/6)
	if err != nil {
		return measurement{}, err
	}
	before := processorTime(target.pid)
	m, err := load(ctx, target, c, length)
	if err != nil {
		return m, err
	}
	m.cpu = (processorTime(target.pid) - before) / time.Duration(m.calls)
	m.rss, m.peak, m.files = memoryOf(target.pid).rss, peakMemory(target.pid), descriptorsOf(target.pid)
	if side == "drawbridge" {
		if m.dropped, err = target.droppedCalls(ctx); err != nil {
			return m, err
		}
		if !s.unrecorded {
			rows, err := target.recordedCalls(ctx)
			if err != nil {
				return m, err
			}
			m.missing = warm.calls + m.calls - rows
		}
	}
	return m, nil
}

// ratio returns the ratio of our figure to that of the floor, as the median of all rounds.
func (r *workloadComparison) ratio(f func(measurement) float64) float64 {
	values := make([]float64, len(r.ours))
	for i := range r.ours {
		values[i] = f(r.ours[i]) / f(r.floor[i])
	}
	return median(values)
}

// findings compares a workload with its goals.
func (r *workloadComparison) findings() []finding {
	var list []finding
	for _, g := range r.goals {
		v := r.ratio(g.value)
		f := finding{what: g.of + ", " + r.name, measured: fmt.Sprintf("%.2f", v)}
		if g.most > 0 {
			f.goal, f.missed = fmt.Sprintf("<= %.2f", g.most), v > g.most
		} else {
			f.goal, f.missed = fmt.Sprintf(">= %.2f", g.least), v < g.least
		}
		list = append(list, f)
	}
	if r.large() {
		peak, share := int64(0), 1.0
		for _, m := range r.ours {
			peak, share = max(peak, m.peak), min(share, m.slowest)
		}
		list = append(list, finding{"peak RSS, " + r.name, "<= 250 MB", fmt.Sprintf("%.0f MB", mega(peak)), mega(peak) > 250})
		if len(r.goals) > 0 { // in the other rows each caller makes too few calls to compare them
			list = append(list, finding{"calls of the slowest caller / of the fastest, " + r.name, ">= 0.50", fmt.Sprintf("%.2f", share), share < 0.5})
		}
	}
	lost := 0
	for _, m := range r.ours {
		lost += max(m.missing, -m.missing) + m.dropped
	}
	if lost > 0 {
		list = append(list, finding{what: "calls that are not in the history, " + r.name, goal: "0", measured: fmt.Sprint(lost), missed: true})
	}
	return list
}

func median[T ~int64 | ~float64](list []T) T {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
