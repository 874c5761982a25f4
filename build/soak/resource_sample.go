//go:build linux

package soak

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Sample is the resource usage of the daemon at one moment and its recent activity.
type Sample struct {
	At                   time.Duration
	Goroutines           int
	Descriptors          int
	Children             int // descendants of the daemon
	Marked               int // processes of servers, with any parent
	RSS                  int // bytes
	PerSecond            float64
	P50, P99             time.Duration
	Crashes, Reloads     int
	Reconnects, Standing int
}

func (s Sample) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d children, %d processes of servers, %.1f MB", s.Goroutines, s.Descriptors, s.Children, s.Marked, float64(s.RSS)/(1<<20))
}

// growthSince lists the resources that have grown since before. Short-lived ones may differ by two.
// It ignores memory, because a single sample of it means little.
func (s Sample) growthSince(before Sample) string {
	var list []string
	for _, c := range []struct {
		name           string
		now, was, most int
	}{
		{"goroutines", s.Goroutines, before.Goroutines, 2}, {"descriptors", s.Descriptors, before.Descriptors, 2},
		{"children", s.Children, before.Children, 0}, {"processes of servers", s.Marked, before.Marked, 0},
	} {
		if c.now > c.was+c.most {
			list = append(list, fmt.Sprintf("%d %s instead of %d", c.now, c.name, c.was))
		}
	}
	return strings.Join(list, ", ")
}

// waitForStableUsage waits until the usage is stable, or until it is that of before if given.
func (r *run) waitForStableUsage(ctx context.Context, before *Sample) (Sample, error) {
	deadline := time.Now().Add(max(r.Settle, 10*time.Second))
	var last Sample
	for same := 0; ; {
		now, err := r.takeSample(ctx)
		if err != nil {
			return now, err
		}
		now.Marked = 0
		missing := ""
		for i := range r.Servers {
			if s := &r.Servers[i]; s.Mark != "" {
				n := len(marked(s.Mark))
				now.Marked += n
				if n == 0 {
					missing = s.ID
				}
			}
		}
		if before != nil && missing == "" && now.growthSince(*before) == "" {
			return now, nil
		}
		if missing == "" && now.growthSince(last) == "" && last.growthSince(now) == "" {
			same++
		} else {
			same, last = 0, now
		}
		if before == nil && same >= 12 {
			return now, nil
		}
		if time.Now().After(deadline) {
			if missing != "" {
				return now, fmt.Errorf("server %s does not run after %s", missing, max(r.Settle, 10*time.Second))
			}
			return now, nil
		}
		if !wait(ctx, 250*time.Millisecond) {
			return now, context.Cause(ctx)
		}
	}
}

// takeSample takes a sample.
func (r *run) takeSample(ctx context.Context) (Sample, error) {
	s := Sample{At: time.Since(r.began)}
	dir := "/proc/" + strconv.Itoa(r.PID)
	fds, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return s, fmt.Errorf("the daemon is gone: %w", err)
	}
	s.Descriptors = len(fds)
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return s, fmt.Errorf("the daemon is gone: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			kb, _ := strconv.Atoi(f[1])
			s.RSS = kb << 10
		}
	}
	s.Children = len(descendants(r.PID))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+"/metrics", nil)
	if err != nil {
		return s, err
	}
	req.Header.Set("Authorization", "Bearer "+r.Admin)
	resp, err := oneShotClient.Do(req)
	if err != nil {
		return s, fmt.Errorf("cannot read the figures of the daemon: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	s.Goroutines = -1
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if n, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
			s.Goroutines, _ = strconv.Atoi(n)
		}
	}
	if s.Goroutines < 0 {
		return s, fmt.Errorf("the daemon does not say how many goroutines it has: %s", resp.Status)
	}
	return s, nil
}

// oneShotClient closes each connection, because an open one would count as the daemon's.
var oneShotClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}

// descendants returns all descendants of pid.
func descendants(pid int) (list []int) {
	dirs, _ := os.ReadDir("/proc")
	children := map[int][]int{}
	for _, dir := range dirs {
		p, err := strconv.Atoi(dir.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + dir.Name() + "/stat")
		if end := strings.LastIndexByte(string(stat), ')'); end > 0 {
			if f := strings.Fields(string(stat[end+1:])); len(f) > 1 {
				parent, _ := strconv.Atoi(f[1])
				children[parent] = append(children[parent], p)
			}
		}
	}
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		list = append(list, queue[0])
		queue = append(queue, children[queue[0]]...)
	}
	return list
}

// watch takes a sample every second.
func (r *run) watch(ctx context.Context) {
	last, at := int64(0), time.Now()
	for wait(ctx, time.Second) {
		s, err := r.takeSample(ctx)
		if err != nil {
			if ctx.Err() == nil {
				r.fail("%v", err)
			}
			return
		}
		calls, now := r.calls.Load(), time.Now()
		s.PerSecond = float64(calls-last) / now.Sub(at).Seconds()
		last, at = calls, now
		s.P50, s.P99 = r.took.drainPercentiles()
		s.Crashes, s.Reloads = int(r.crashes.Load()), int(r.reloads.Load())
		s.Reconnects, s.Standing = int(r.connects.Load()), int(r.stops.Load())
		r.mu.Lock()
		r.report.Samples = append(r.report.Samples, s)
		n := len(r.report.Samples)
		wrong := len(r.report.Wrong) + r.report.WrongMore
		r.mu.Unlock()
		if n%15 == 0 {
			r.Log("%s: %d calls, %.0f a second, p50 %s, p99 %s; %d crashes, %d reloads, %d reconnects; %s; %d wrong", s.At.Round(time.Second), calls, s.PerSecond, s.P50, s.P99, s.Crashes, s.Reloads, s.Reconnects, s, wrong)
		}
	}
}

// Memory returns the median memory usage of the daemon in a part of the run, such as from 0.2 to
// 0.4.
func (r *Report) Memory(from, to float64) int {
	n := float64(len(r.Samples))
	var list []int
	for _, s := range r.Samples[int(from*n):int(to*n)] {
		list = append(list, s.RSS)
	}
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// histogram counts durations in buckets of an eighth of their size.
type histogram struct{ n [400]atomic.Int64 }

func (h *histogram) add(d time.Duration) {
	at := int(8 * math.Log2(float64(max(d.Microseconds(), 1))))
	h.n[min(at, len(h.n)-1)].Add(1)
}

// drainPercentiles returns two percentiles and resets the histogram.
func (h *histogram) drainPercentiles() (p50, p99 time.Duration) {
	var n [400]int64
	sum := int64(0)
	for i := range h.n {
		n[i] = h.n[i].Swap(0)
		sum += n[i]
	}
	quantile := func(q float64) time.Duration {
		left := int64(q * float64(sum))
		for i := range n {
			if left -= n[i]; left < 0 {
				return time.Duration(math.Exp2(float64(i)/8)) * time.Microsecond
			}
		}
		return 0
	}
	return quantile(0.5), quantile(0.99)
}
