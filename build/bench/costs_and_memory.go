package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// otherRows are the rows that do not measure calls.
var otherRows = []struct {
	name    string
	measure func(context.Context, *bench) ([]finding, error)
}{
	{"recording", recordingCost},
	{"rules", rulesCost},
	{"queries", loadBesideQueries},
	{"list", measureLongToolList},
	{"start", measureStarts},
	{"kill", measureKills},
	{"edit", measureEdits},
	{"shim", measureShims},
	{"sandbox", measureSandbox},
	{"npx", npxCost},
	{"memory", idleMemory},
	{"loaded", loadedMemory},
	{"idle CPU", idleCPU},
	{"tray", trayMemory},
	{"window", windowMemory},
	{"growth", measureScaling},
}

// recordingCost compares calls with and without the history, alternately.
func recordingCost(ctx context.Context, b *bench) ([]finding, error) {
	c := workload{name: "60 B × 64", payload: 60, clients: 64}
	var ratios []float64
	lost := 0
	for range b.rounds {
		without, err := b.measureSide(ctx, "drawbridge", c, targetOptions{unrecorded: true})
		if err != nil {
			return nil, err
		}
		with, err := b.measureSide(ctx, "drawbridge", c, targetOptions{})
		if err != nil {
			return nil, err
		}
		ratios = append(ratios, with.rate/without.rate)
		lost += max(with.missing, -with.missing)
	}
	v := median(ratios)
	return []finding{
		{"calls/s with recording / without, 60 B × 64", ">= 0.70", fmt.Sprintf("%.2f", v), v < 0.7},
		{"calls missing in the history", "0", fmt.Sprint(lost), lost != 0},
	}, nil
}

// tenRules are argument rules that all test the calls of this benchmark, and of which none applies.
var tenRules = []string{
	`{"tool": "up__*", "where": {"/text": {"under": "/etc"}}, "then": "deny"}`,
	`{"tool": "up__echo", "where": {"/text": {"glob": "*.key"}}, "then": "ask"}`,
	`{"where": {"/text": {"matches": "^/(proc|sys)/"}}, "then": "deny"}`,
	`{"where": {"/url": {"host": "*.internal"}}, "then": "deny"}`,
	`{"where": {"/amount": {"min": 100}}, "then": "ask"}`,
	`{"where": {"/force": {"present": true}}, "then": "ask"}`,
	`{"where": {"": {"minBytes": 1000000}}, "then": "deny"}`,
	`{"where": {"any": [{"/mode": {"glob": "w*"}}, {"/mode": {"glob": "a*"}}]}, "then": "ask"}`,
	`{"where": {"/paths/*": {"notUnder": "/srv"}, "/paths": {"present": true}}, "then": "deny"}`,
	`{"tool": "github__*", "then": "ask"}`,
}

// rulesCost compares calls with ten argument rules and without, alternately.
func rulesCost(ctx context.Context, b *bench) ([]finding, error) {
	c := workload{name: "60 B × 1", payload: 60, clients: 1}
	var ratios, with, without []float64
	for range b.rounds {
		plain, err := b.measureSide(ctx, "drawbridge", c, targetOptions{})
		if err != nil {
			return nil, err
		}
		ruled, err := b.measureSide(ctx, "drawbridge", c, targetOptions{rules: tenRules})
		if err != nil {
			return nil, err
		}
		without, with = append(without, float64(plain.p50)), append(with, float64(ruled.p50))
		ratios = append(ratios, float64(ruled.p50)/float64(plain.p50))
	}
	v := median(ratios)
	return []finding{{"p50 with ten argument rules / without, 60 B × 1", "<= 1.20", fmt.Sprintf("%.2f (%s, without %s)", v, micro(median(with)), micro(median(without))), v > 1.2}}, nil
}

// measureLongToolList requests a list of 500 tools, and as many bytes from the floor.
func measureLongToolList(ctx context.Context, b *bench) ([]finding, error) {
	var ratios, ours, floors []float64
	size := 0
	for range b.rounds {
		t, err := start(ctx, "drawbridge", b.program, targetOptions{servers: toolServers(1, 500)})
		if err != nil {
			return nil, err
		}
		list, n, err := askRepeatedly(ctx, t, b.length/2)
		t.stop()
		if err != nil {
			return nil, err
		}
		f, err := start(ctx, "floor", b.program, targetOptions{floorBytes: n})
		if err != nil {
			return nil, err
		}
		floor, _, err := askRepeatedly(ctx, f, b.length/2)
		f.stop()
		if err != nil {
			return nil, err
		}
		size = n
		ours, floors = append(ours, float64(list)), append(floors, float64(floor))
		ratios = append(ratios, float64(list)/float64(floor))
	}
	v := median(ratios)
	return []finding{{fmt.Sprintf("p50 of tools/list, 500 tools, %d KB / F with the same bytes", size>>10), "<= 0.80",
		fmt.Sprintf("%.2f (%s, floor %s)", v, micro(median(ours)), micro(median(floors))), v > 0.8}}, nil
}

// loadedMemory measures memory after 50,000 calls, after 50,000 more, and a minute later.
func loadedMemory(ctx context.Context, b *bench) ([]finding, error) {
	t, err := start(ctx, "drawbridge", b.program, targetOptions{})
	if err != nil {
		return nil, err
	}
	defer t.stop()
	if err := waitUntilIdle(ctx, 5*time.Second); err != nil { // the daemon releases memory 4 s after its start
		return nil, err
	}
	idle := memoryOf(t.pid)
	c := workload{name: "500 B × 8", payload: 500, clients: 8}
	var after [2]memory
	for i := range after {
		for made := 0; made < 50_000; {
			m, err := load(ctx, t, c, time.Second)
			if err != nil {
				return nil, err
			}
			made += m.calls
		}
		after[i] = memoryOf(t.pid) // before the next request, which builds the schemas of the API
		if _, err := t.droppedCalls(ctx); err != nil {
			return nil, err
		}
	}
	if err := waitUntilIdle(ctx, 65*time.Second); err != nil { // the daemon releases memory after 30 to 60 s without a call
		return nil, err
	}
	rested := mega(memoryOf(t.pid).rss - idle.rss)
	grown, more := mega(after[0].rss-idle.rss), mega(after[1].rss-after[0].rss)
	return []finding{
		{"RSS after 50,000 calls of 500 B, 8 clients", "<= idle + 16 MB", fmt.Sprintf("%.0f MB, idle %.0f: +%.1f", mega(after[0].rss), mega(idle.rss), grown), grown > 16},
		{"RSS after the next 50,000", "flat (<= +4 MB)", fmt.Sprintf("%+.1f MB; files %d", more, descriptorsOf(t.pid)), more > 4},
		{"RSS a minute later", "<= idle + 8 MB", fmt.Sprintf("%+.1f MB", rested), rested > 8},
		{"daemon after 100,000 calls", "", after[1].String(), false},
	}, nil
}

// idleMemory measures the memory of the idle daemon and its watchdog.
func idleMemory(ctx context.Context, b *bench) ([]finding, error) {
	var list []finding
	for _, row := range []struct {
		servers int
		most    float64
	}{{1, 26}, {10, 28}} {
		t, err := start(ctx, "drawbridge", b.program, targetOptions{servers: toolServers(row.servers, 5)})
		if err != nil {
			return list, err
		}
		if err := waitUntilIdle(ctx, 5*time.Second); err != nil {
			t.stop()
			return list, err
		}
		daemon, watchdog := memoryOf(t.pid), memory{}
		if parent := parentOf(t.pid); parent != os.Getpid() {
			watchdog = memoryOf(parent)
		}
		t.stop()
		both := daemon.plus(watchdog)
		list = append(list, finding{fmt.Sprintf("idle PSS of daemon and watchdog, %d servers", row.servers), fmt.Sprintf("<= %.0f MB", row.most),
			fmt.Sprintf("%s (daemon %s; watchdog %s)", both, daemon, watchdog), mega(both.pss) > row.most})
	}
	return list, nil
}

// idleCPU measures the processor time of the idle daemon.
func idleCPU(ctx context.Context, b *bench) ([]finding, error) {
	t, err := start(ctx, "drawbridge", b.program, targetOptions{servers: toolServers(10, 5)})
	if err != nil {
		return nil, err
	}
	defer t.stop()
	if err := waitUntilIdle(ctx, 10*time.Second); err != nil {
		return nil, err
	}
	const length = 20 * time.Second
	before, parent := processorTime(t.pid), parentOf(t.pid)
	above := processorTime(parent)
	if err := waitUntilIdle(ctx, length); err != nil {
		return nil, err
	}
	daemon := 100 * float64(processorTime(t.pid)-before) / float64(length)
	watchdog := 0.0
	if parent != os.Getpid() {
		watchdog = 100 * float64(processorTime(parent)-above) / float64(length)
	}
	return []finding{{"idle CPU, 10 servers", "<= 0.30 % of a core", fmt.Sprintf("daemon %.2f %%, watchdog %.2f %%", daemon, watchdog), daemon+watchdog > 0.3}}, nil
}

// measureScaling measures the cost of many servers and tools.
func measureScaling(ctx context.Context, b *bench) ([]finding, error) {
	began := time.Now()
	t, err := launch(ctx, b.program, targetOptions{servers: toolServers(200, 10)})
	if err != nil {
		return nil, err
	}
	defer t.stop()
	if err := pollUntil(ctx, 3*time.Minute, "200 servers were not listed", func() bool {
		return t.readAddress() && t.toolCount(ctx) == 2000
	}); err != nil {
		return nil, err
	}
	listed := time.Since(began)
	c := workload{name: "60 B × 64", payload: 60, clients: 64}
	t.tool = "s0__tool_0"
	c.canned = true
	m, err := load(ctx, t, c, b.length)
	if err != nil {
		return nil, err
	}
	if _, err := t.droppedCalls(ctx); err != nil {
		return nil, err
	}
	return []finding{
		{"200 servers with 2,000 tools: time until all are listed", "", micro(float64(listed)), false},
		{"daemon with 200 servers, 2,000 tools, 64 clients", "", fmt.Sprintf("%s; %d files; %.0f calls/s", memoryOf(t.pid), descriptorsOf(t.pid), m.rate), false},
	}, nil
}

// waitUntilIdle waits for a daemon to become idle, which no event reports.
func waitUntilIdle(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
