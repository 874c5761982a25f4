package loopback

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// portOwner describes the process that listens on port, such as `"node" (pid 4711)`. It returns
// "" if the process is unknown, for example because it belongs to another user.
func portOwner(port uint16) string {
	inodes := listeningInodes(port)
	if len(inodes) == 0 {
		return ""
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		link, err := os.Readlink(fd)
		if err != nil || !inodes[link] {
			continue
		}
		pid := strings.Split(fd, "/")[2]
		name, _ := os.ReadFile("/proc/" + pid + "/comm")
		return fmt.Sprintf("%q (pid %s)", strings.TrimSpace(string(name)), pid)
	}
	return ""
}

// listeningInodes returns the sockets that listen on port, in the notation of the links in
// /proc/*/fd.
func listeningInodes(port uint16) map[string]bool {
	const listen = "0A"
	found := make(map[string]bool)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			col := strings.Fields(lines.Text())
			if len(col) < 10 || col[3] != listen {
				continue
			}
			if local, ok := parseTCPAddress(col[1]); ok && local.Port() == port {
				found["socket:["+col[9]+"]"] = true
			}
		}
		_ = f.Close()
	}
	return found
}
