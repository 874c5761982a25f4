package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"
)

const (
	tableBegin = "<!-- table: written by make bench -->"
	tableEnd   = "<!-- end of table -->"
	peersBegin = "<!-- peers: written by make bench peers=1 -->"
	peersEnd   = "<!-- end of peers -->"
)

// finding is one row of the table of goals.
type finding struct {
	what, goal, measured string
	missed               bool
}

func (f finding) verdict() string {
	switch {
	case f.goal == "":
		return ""
	case f.missed:
		return "**missed** (goal " + f.goal + ")"
	}
	return "met (goal " + f.goal + ")"
}

// conditions describes when, where and in which order the sides were measured.
func (b *bench) conditions(order string) string {
	return fmt.Sprintf("%s, %s, %s/%s, %d cores, %s; %d rounds of %s, %s, medians.\n\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), processor(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), b.rounds, b.length, order)
}

// report returns all tables, with medians of all rounds.
func (b *bench) report(results []workloadComparison, found []finding) string {
	var t strings.Builder
	t.WriteString(b.conditions("floor and Drawbridge alternately"))
	if len(results) > 0 {
		t.WriteString("| workload | floor p50 | p50 | ratio | floor p99 | p99 | ratio | floor calls/s | calls/s | ratio | CPU/call floor, ours | RSS | files | dropped |\n")
		t.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	}
	for i := range results {
		r := &results[i]
		pick := func(list []measurement, f func(measurement) float64) float64 {
			values := make([]float64, len(list))
			for i, m := range list {
				values[i] = f(m)
			}
			return median(values)
		}
		cpu := func(m measurement) float64 { return float64(m.cpu) }
		fmt.Fprintf(&t, "| %s | %s | %s | **%.2f** | %s | %s | %.2f | %.0f | %.0f | **%.2f** | %s, %s | %.0f MB | %.0f | %.0f |\n", r.name,
			micro(pick(r.floor, p50Of)), micro(pick(r.ours, p50Of)), r.ratio(p50Of),
			micro(pick(r.floor, p99Of)), micro(pick(r.ours, p99Of)), r.ratio(p99Of),
			pick(r.floor, rateOf), pick(r.ours, rateOf), r.ratio(rateOf),
			micro(pick(r.floor, cpu)), micro(pick(r.ours, cpu)),
			pick(r.ours, func(m measurement) float64 { return mega(m.rss) }),
			pick(r.ours, func(m measurement) float64 { return float64(m.files) }),
			pick(r.ours, func(m measurement) float64 { return float64(m.dropped) }))
	}
	if len(found) > 0 {
		t.WriteString("\n| what | goal | measured | |\n|---|---|---|---|\n")
	}
	for _, f := range found {
		verdict, _, _ := strings.Cut(f.verdict(), " (")
		fmt.Fprintf(&t, "| %s | %s | %s | %s |\n", f.what, f.goal, f.measured, verdict)
	}
	return t.String()
}

// peerTable returns the table of ratios to the floor.
func peerTable(results []*peerResult) string {
	var t strings.Builder
	t.WriteString("Each figure is divided by that of the floor in the same round. Recording is on in Drawbridge only, as are tokens and policy.\n\n")
	t.WriteString("| | version | 60 B × 1: p50 | p99 | calls/s | 60 B × 64: p50 | p99 | calls/s |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		fmt.Fprintf(&t, "| %s | %s |", r.name, r.version)
		if r.err != nil {
			reason, _, _ := strings.Cut(r.err.Error(), "\n")
			fmt.Fprintf(&t, " not measured: %.150s | | | | | |\n", strings.ReplaceAll(reason, "|", "/"))
			continue
		}
		for _, c := range r.compared {
			for _, of := range []func(measurement) float64{p50Of, p99Of, rateOf} {
				fmt.Fprintf(&t, " %s |", significant(c.ratio(of)))
			}
		}
		t.WriteString("\n")
	}
	return t.String()
}

// significant formats a ratio with three digits, because those of the peers differ by orders of magnitude.
func significant(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// processor returns the model name of the processor.
func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(name, " \t:\n")
		}
	}
	return "unknown processor"
}

func micro(ns float64) string {
	if ns >= 1e6 {
		return fmt.Sprintf("%.2f ms", ns/1e6)
	}
	return fmt.Sprintf("%.0f µs", ns/1e3)
}

// writeReport replaces the text between two marks in a file. A new file contains only this text.
func writeReport(path, begin, end, text string) error {
	src, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return os.WriteFile(path, []byte(begin+"\n\n"+text+"\n"+end+"\n"), 0o644)
	}
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
