package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

const (
	begin = "<!-- table: written by make bench -->"
	end   = "<!-- end of table -->"
)

// report is the table of all cells, medians of all rounds.
func report(results []result, rounds int, length time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s/%s, %d cores, %s; %d rounds of %s, floor and Drawbridge in turn, medians.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), rounds, length)
	b.WriteString("| workload | floor p50 | p50 | ratio | floor p99 | p99 | ratio | floor calls/s | calls/s | ratio | CPU/call floor, ours | RSS | files | dropped |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		pick := func(list []measurement, f func(measurement) float64) float64 {
			values := make([]float64, len(list))
			for i, m := range list {
				values[i] = f(m)
			}
			return median(values)
		}
		ratios := func(f func(measurement) float64) float64 {
			values := make([]float64, len(r.ours))
			for i := range r.ours {
				values[i] = f(r.ours[i]) / f(r.floor[i])
			}
			return median(values)
		}
		p50 := func(m measurement) float64 { return float64(m.p50) }
		p99 := func(m measurement) float64 { return float64(m.p99) }
		rate := func(m measurement) float64 { return m.rate }
		cpu := func(m measurement) float64 { return float64(m.cpu) }
		fmt.Fprintf(&b, "| %s | %s | %s | **%.2f** | %s | %s | %.2f | %.0f | %.0f | **%.2f** | %s, %s | %.0f MB | %.0f | %.0f |\n", r.name,
			micro(pick(r.floor, p50)), micro(pick(r.ours, p50)), ratios(p50),
			micro(pick(r.floor, p99)), micro(pick(r.ours, p99)), ratios(p99),
			pick(r.floor, rate), pick(r.ours, rate), ratios(rate),
			micro(pick(r.floor, cpu)), micro(pick(r.ours, cpu)),
			pick(r.ours, func(m measurement) float64 { return float64(m.rss) })/(1<<20),
			pick(r.ours, func(m measurement) float64 { return float64(m.files) }),
			pick(r.ours, func(m measurement) float64 { return float64(m.dropped) }))
	}
	return b.String()
}

func micro(ns float64) string {
	if ns >= 1e6 {
		return fmt.Sprintf("%.2f ms", ns/1e6)
	}
	return fmt.Sprintf("%.0f µs", ns/1e3)
}

// writeReport puts the table between its marks in a file that people write the rest of.
func writeReport(path, text string) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	from, to := bytes.Index(src, []byte(begin)), bytes.Index(src, []byte(end))
	if from < 0 || to < from {
		return fmt.Errorf("%s has no place for the table", path)
	}
	out := string(src[:from]) + begin + "\n\n" + text + "\n" + string(src[to:])
	return os.WriteFile(path, []byte(out), 0o644)
}
