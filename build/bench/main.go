// Command bench measures what Drawbridge adds to a tool call, against a floor that
// runs in the same minutes: the ratios count, not the absolute figures.
//
// The floor is the layout of a real bridge with nothing in it: an HTTP server in a
// process of its own that writes the body to a child over a pipe and answers the line
// that comes back. Drawbridge runs with tokens, policy and recording on. Both have the
// same upstream, a server that splices bytes. Every reply is checked.
//
//	go run ./build/bench [-rounds 3] [-seconds 3] [-o build/bench/README.md]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"drawbridge/backend/mcptest"
)

// cell is one workload.
type cell struct {
	name    string
	payload int // bytes of the argument that comes back
	clients int
	modern  bool
}

var cells = []cell{
	{"60 B × 1", 60, 1, false},
	{"60 B × 1 modern", 60, 1, true},
	{"60 B × 8", 60, 8, false},
	{"60 B × 64", 60, 64, false},
	{"60 B × 64 modern", 60, 64, true},
	{"10 KB × 1", 10 << 10, 1, false},
	{"10 KB × 8", 10 << 10, 8, false},
	{"1 MB × 1", 1 << 20, 1, false},
}

func main() {
	rounds := flag.Int("rounds", 3, "interleaved rounds; medians are printed")
	seconds := flag.Float64("seconds", 3, "length of one measurement")
	program := flag.String("program", "build/bin/drawbridge", "the program to measure")
	out := flag.String("o", "", "file to write the table to, besides printing it")
	only := flag.String("only", "", "only cells whose name holds this")
	flag.Parse()
	switch flag.Arg(0) {
	case "upstream":
		mcptest.Main("echo")
		return
	case "floor":
		if err := serveFloor(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *program, *rounds, time.Duration(*seconds*float64(time.Second)), *only, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program string, rounds int, length time.Duration, only, out string) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	var results []result
	for _, c := range cells {
		if !strings.Contains(c.name, only) {
			continue
		}
		r := result{cell: c}
		for round := range rounds {
			for _, side := range []string{"floor", "drawbridge"} {
				m, err := measureSide(ctx, side, program, c, length)
				if err != nil {
					return fmt.Errorf("%s, %s, round %d: %w", c.name, side, round+1, err)
				}
				r.add(side, m)
			}
			fmt.Fprintf(os.Stderr, "%s, round %d: p50 ratio %.2f, calls/s ratio %.2f\n", c.name, round+1,
				ratio(r.ours[round].p50, r.floor[round].p50), r.ours[round].rate/r.floor[round].rate)
		}
		results = append(results, r)
	}
	text := report(results, rounds, length)
	fmt.Print(text)
	if out == "" {
		return nil
	}
	return writeReport(out, text)
}

// measureSide starts one side afresh, warms it up, loads it, and ends it.
func measureSide(ctx context.Context, side, program string, c cell, length time.Duration) (measurement, error) {
	target, err := start(ctx, side, program)
	if err != nil {
		return measurement{}, err
	}
	defer target.stop()
	if _, err := load(ctx, target, c, length/6); err != nil {
		return measurement{}, err
	}
	before := target.cpu()
	m, err := load(ctx, target, c, length)
	if err != nil {
		return m, err
	}
	m.cpu = (target.cpu() - before) / time.Duration(m.calls)
	m.rss, m.files = target.memory(), target.descriptors()
	if side == "drawbridge" {
		m.dropped, err = target.dropped(ctx)
	}
	return m, err
}

type result struct {
	cell
	floor, ours []measurement
}

func (r *result) add(side string, m measurement) {
	if side == "floor" {
		r.floor = append(r.floor, m)
	} else {
		r.ours = append(r.ours, m)
	}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func median[T ~int64 | ~float64](list []T) T {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
