package loopback

import (
	"fmt"

	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

// portOwner describes the process that listens on port, such as `"node" (pid 4711)`. It returns
// "" if the process is unknown, for example because it belongs to another user.
func portOwner(port uint16) string {
	sockets, _ := net.Connections("tcp") // those that could be read
	for _, s := range sockets {
		if s.Status != "LISTEN" || s.Laddr.Port != uint32(port) || s.Pid == 0 {
			continue
		}
		if p, err := process.NewProcess(s.Pid); err == nil {
			if name, err := p.Name(); err == nil {
				return fmt.Sprintf("%q (pid %d)", name, s.Pid)
			}
		}
	}
	return ""
}
