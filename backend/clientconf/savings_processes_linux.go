package clientconf

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// processes returns the processes of the current user.
func processes() (all []Process) {
	entries, _ := os.ReadDir("/proc")
	page := int64(os.Getpagesize())
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		info, err := os.Stat(dir)
		if err != nil || !ownedByUs(info) {
			continue
		}
		p := Process{PID: pid}
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || len(line) == 0 {
			continue
		}
		for _, arg := range bytes.Split(bytes.TrimRight(line, "\x00"), []byte{0}) {
			p.Args = append(p.Args, string(arg))
		}
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		if at := bytes.LastIndexByte(stat, ')'); at > 0 {
			if f := strings.Fields(string(stat[at+1:])); len(f) > 1 {
				p.Parent, _ = strconv.Atoi(f[1])
			}
		}
		if f := strings.Fields(readText(filepath.Join(dir, "statm"))); len(f) > 1 {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			p.Bytes = n * page
		}
		all = append(all, p)
	}
	return all
}

func readText(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}
