package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

type connection struct {
	server, protocol string
	remote           netip.AddrPort
}

// sockets finds the connections of processes. Sockets are identified by their inode, so the
// descriptors of processes are read only if there are inodes that were not seen before.
type sockets struct {
	owners map[uint64]string // server by inode; "" is none
	uid    int               // whose sockets to read; -1: of all users
}

func newSockets() *sockets {
	s := &sockets{owners: map[uint64]string{}, uid: os.Geteuid()}
	if s.uid == 0 {
		s.uid = -1 // a server of root may change its user
	}
	return s
}

type tableEntry struct {
	protocol  string
	localPort uint16
	remote    netip.AddrPort
	state     uint8
	uid       int
	inode     uint64
}

// States of sockets, as in /proc/net/tcp.
const (
	tcpTimeWait = 6
	tcpListen   = 10
)

// sample returns the open connections of the trees, except those that others opened to them.
func (s *sockets) sample(trees func() map[string][]int) (found []connection) {
	all := readTables("/proc/thread-self/net/")
	listening := map[uint16]bool{}
	for _, e := range all {
		if e.protocol == "tcp" && e.state == tcpListen {
			listening[e.localPort] = true
		}
	}
	outgoing := all[:0]
	unknown := false
	present := make(map[uint64]bool, len(all))
	for _, e := range all {
		if e.inode == 0 || s.uid >= 0 && e.uid != s.uid || !e.remote.IsValid() || e.protocol == "tcp" && (e.state == tcpTimeWait || listening[e.localPort]) {
			continue
		}
		outgoing = append(outgoing, e)
		present[e.inode] = true
		if _, ok := s.owners[e.inode]; !ok {
			unknown = true
		}
	}
	for inode := range s.owners {
		if !present[inode] {
			delete(s.owners, inode)
		}
	}
	if unknown {
		owners := socketOwners(trees())
		for inode := range present {
			if _, ok := s.owners[inode]; !ok {
				s.owners[inode] = owners[inode]
			}
		}
	}
	for _, e := range outgoing {
		if server := s.owners[e.inode]; server != "" {
			found = append(found, connection{server, e.protocol, e.remote})
		}
	}
	return found
}

// socketOwners returns the server of each socket that the processes have open.
func socketOwners(trees map[string][]int) map[uint64]string {
	owners := map[uint64]string{}
	var link [64]byte
	for server, pids := range trees {
		for _, pid := range pids {
			dir := "/proc/" + strconv.Itoa(pid) + "/fd"
			folder, err := os.Open(dir)
			if err != nil {
				continue // it has exited, or belongs to another user
			}
			names, _ := folder.Readdirnames(-1)
			for _, name := range names {
				n, err := unix.Readlinkat(int(folder.Fd()), name, link[:])
				if err != nil {
					continue
				}
				number, ok := bytes.CutPrefix(link[:n], []byte("socket:["))
				if !ok {
					continue
				}
				if inode, err := strconv.ParseUint(string(bytes.TrimSuffix(number, []byte("]"))), 10, 64); err == nil {
					owners[inode] = server
				}
			}
			folder.Close()
		}
	}
	return owners
}

// readTables reads the socket tables of one network namespace. Entries without a remote address
// have an invalid one.
func readTables(dir string) (list []tableEntry) {
	for _, protocol := range []string{"tcp", "udp"} {
		for _, version := range []string{"", "6"} {
			text, err := os.ReadFile(dir + protocol + version)
			if err != nil {
				continue // the kernel has no IPv6
			}
			first := true
			for line := range bytes.Lines(text) {
				if e, ok := parseEntry(line); ok && !first {
					e.protocol = protocol
					list = append(list, e)
				}
				first = false
			}
		}
	}
	return list
}

// parseEntry parses a line such as
//
//	0: 0100007F:1F90 0100007F:D2A4 01 00000000:00000000 00:00000000 00000000  1000        0 54321 1 …
func parseEntry(line []byte) (e tableEntry, ok bool) {
	f := bytes.Fields(line)
	if len(f) < 10 {
		return e, false
	}
	local, ok := parseAddress(f[1])
	if !ok {
		return e, false
	}
	remote, ok := parseAddress(f[2])
	if !ok {
		return e, false
	}
	state, err := strconv.ParseUint(string(f[3]), 16, 8)
	if err != nil {
		return e, false
	}
	uid, err := strconv.Atoi(string(f[7]))
	if err != nil {
		return e, false
	}
	if e.inode, err = strconv.ParseUint(string(f[9]), 10, 64); err != nil {
		return e, false
	}
	e.localPort, e.state, e.uid = local.Port(), uint8(state), uid
	if remote.Port() != 0 && !remote.Addr().IsUnspecified() {
		e.remote = remote
	}
	return e, true
}

// parseAddress parses an address and port. The kernel prints addresses as 32-bit numbers of its own
// byte order.
func parseAddress(text []byte) (netip.AddrPort, bool) {
	address, port, ok := bytes.Cut(text, []byte(":"))
	if !ok || len(address) != 8 && len(address) != 32 {
		return netip.AddrPort{}, false
	}
	var raw [16]byte
	n, err := hex.Decode(raw[:], address)
	if err != nil {
		return netip.AddrPort{}, false
	}
	for i := 0; i < n; i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	number, err := strconv.ParseUint(string(port), 16, 16)
	if err != nil {
		return netip.AddrPort{}, false
	}
	a, _ := netip.AddrFromSlice(raw[:n])
	return netip.AddrPortFrom(a.Unmap(), uint16(number)), true
}

func measureThreadCPU(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var t unix.Timespec
		if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
			return 0
		}
		return time.Duration(t.Nano())
	}
	before := used()
	f()
	return used() - before
}
