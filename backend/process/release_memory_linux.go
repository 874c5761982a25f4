package process

import (
	"bufio"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ReleaseMemory returns to the system memory that only the start-up needed: free heap pages, and
// the pages of the program file. When these are used again, the kernel maps them from the page
// cache, with one minor fault for each 64 KiB. ReleaseMemory blocks for some milliseconds, so
// call it when idle.
func ReleaseMemory() {
	debug.FreeOSMemory()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	for _, r := range cleanRanges(self) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, r.start, r.end-r.start, unix.MADV_DONTNEED)
	}
}

type addressRange struct{ start, end uintptr }

// cleanRanges returns the mappings of a file that were never written to, so their content is
// still in the file. Writable mappings are skipped.
func cleanRanges(path string) (list []addressRange) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil
	}
	defer f.Close()
	var at addressRange
	dirty := true // until the counter Anonymous says otherwise
	keep := func() {
		if at.end != 0 && !dirty {
			list = append(list, at)
		}
		at, dirty = addressRange{}, false
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		key, value, _ := strings.Cut(line, ":")
		switch {
		case key == "Anonymous": // size of the pages that were written to
			dirty = dirty || strings.TrimSpace(value) != "0 kB"
		case !strings.Contains(key, " "): // another counter
		default: // the head of the next mapping: 00400000-012c9000 r-xp 00000000 fe:01 1 /path
			keep()
			fields := strings.SplitN(line, " ", 6)
			if len(fields) < 6 || strings.TrimSpace(fields[5]) != path || strings.Contains(fields[1], "w") {
				continue
			}
			from, to, _ := strings.Cut(fields[0], "-")
			start, err1 := strconv.ParseUint(from, 16, 64)
			end, err2 := strconv.ParseUint(to, 16, 64)
			if err1 == nil && err2 == nil {
				at = addressRange{uintptr(start), uintptr(end)}
			}
		}
	}
	keep()
	return list
}
