package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns the processor time that a process and all its threads have used.
func processorTime(pid int) time.Duration {
	const cpuClockBits = 2 // the low bits of the id of a clock that counts processor time
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|cpuClockBits), &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// memory is the memory usage of a process, in bytes.
type memory struct {
	rss int64
	pss int64 // proportional set size: shared pages count in part
	own int64 // private pages
}

func (m memory) String() string {
	return fmt.Sprintf("PSS %.1f, RSS %.1f, own %.1f MB", mega(m.pss), mega(m.rss), mega(m.own))
}

func (m memory) plus(o memory) memory {
	return memory{m.rss + o.rss, m.pss + o.pss, m.own + o.own}
}

func mega(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func memoryOf(pid int) memory {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return memory{}
	}
	var m memory
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kb, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "Rss:":
			m.rss += kb << 10
		case "Pss:":
			m.pss += kb << 10
		case "Private_Clean:", "Private_Dirty:":
			m.own += kb << 10
		}
	}
	return m
}

// peakMemory returns the largest RSS that a process has had, in bytes.
func peakMemory(pid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.Fields(kb)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

func parentOf(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

func descriptorsOf(pid int) int {
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(list)
}
