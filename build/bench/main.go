// Command bench measures what Drawbridge adds to a tool call. It compares with a floor that runs in
// the same minutes; the ratios count, not the absolute figures.
//
// The floor is a minimal bridge: an HTTP server that writes each body to a child process over a
// pipe and returns the line that it reads back. Drawbridge runs with tokens, policy and recording.
// Both use the same upstream server, and every response is checked. Other rows measure latencies
// that users notice and the resource usage of processes.
//
//	go run ./build/bench [-rounds 3] [-seconds 2] [-only "60 B × 1,start"] [-o build/bench/README.md]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
)

// bench is one run of the benchmark.
type bench struct {
	program string
	before  string // an older program to compare with instead of the floor; "" is the floor
	rounds  int
	length  time.Duration
	only    []string
}

// wants reports whether a row was requested.
func (b *bench) wants(name string) bool {
	for _, part := range b.only {
		if strings.Contains(name, part) {
			return true
		}
	}
	return len(b.only) == 0
}

func main() {
	rounds := flag.Int("rounds", 3, "interleaved rounds; medians are printed")
	seconds := flag.Float64("seconds", 2, "length of one measurement")
	program := flag.String("program", "build/bin/drawbridge", "the program to measure")
	before := flag.String("before", "", "compare calls with this program instead of the floor")
	out := flag.String("o", "", "file to write the tables to, besides printing them")
	curves := flag.String("curves", "", "measure how the cost grows instead, and write the pictures to this folder")
	peers := flag.Bool("peers", false, "compare Drawbridge with other programs from npm instead; installs them into the cache folder of the user")
	only := flag.String("only", "", "only rows whose name contains one of these, separated by commas")
	flag.Parse()
	if done, err := runRole(flag.Args()); done {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	path, err := filepath.Abs(*program)
	b := &bench{program: path, before: *before, rounds: *rounds, length: time.Duration(*seconds * float64(time.Second))}
	if *only != "" {
		b.only = strings.Split(*only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case err != nil:
	case *curves != "":
		err = b.drawCurves(ctx, *curves)
	case *peers:
		err = b.comparePeers(ctx, *out)
	default:
		err = b.run(ctx, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// runRole runs the role in which this program has started itself, if any.
func runRole(args []string) (bool, error) {
	if len(args) == 0 {
		return false, nil
	}
	args = append(args, "0")
	n, _ := strconv.Atoi(args[1])
	switch args[0] {
	case "upstream":
		mcptest.Main("echo")
		return true, nil
	case "tools":
		return true, serveTools(n)
	case "bytes":
		return true, serveFixedSizeLines(n)
	case "floor":
		return true, serveFloor(args[1])
	}
	return true, fmt.Errorf("there is no role %q", args[0])
}

// run measures everything. A row that fails is reported with its error and the others continue; run
// then returns an error.
func (b *bench) run(ctx context.Context, out string) error {
	failed := 0
	var results []workloadComparison
	var found []finding
	for _, c := range workloads {
		if !b.wants(c.name) {
			continue
		}
		r, err := b.measure(ctx, c)
		if err != nil {
			failed++
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.name, err)
			found = append(found, finding{what: c.name, goal: "works", measured: err.Error(), missed: true})
			continue
		}
		results = append(results, r)
		found = append(found, r.findings()...)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, one := range otherRows {
		if !b.wants(one.name) {
			continue
		}
		began := time.Now()
		list, err := one.measure(ctx, b)
		if err != nil {
			failed++
			list = append(list, finding{what: one.name, goal: "works", measured: err.Error(), missed: true})
		}
		for _, f := range list {
			fmt.Fprintf(os.Stderr, "%s: %s %s\n", f.what, f.measured, f.verdict())
		}
		fmt.Fprintf(os.Stderr, "(%s took %s)\n", one.name, time.Since(began).Round(time.Millisecond))
		found = append(found, list...)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	text := b.report(results, found)
	fmt.Print(text)
	if out != "" {
		if err := writeReport(out, tableBegin, tableEnd, text); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d rows could not be measured", failed)
	}
	return nil
}
