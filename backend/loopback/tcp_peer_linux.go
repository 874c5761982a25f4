package loopback

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// peerLookups is the number of attempts. /proc/net/tcp is not an atomic snapshot: a row may be
// missed while connections come and go.
const peerLookups = 3

// tcpPeerUser returns the user id of the socket at peer that is connected to local. Both are on
// this machine.
func tcpPeerUser(local, peer netip.AddrPort) (uid int, answer peerAnswer) {
	local, peer = unmapAddrPort(local), unmapAddrPort(peer)
	for range peerLookups {
		for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			f, err := os.Open(table)
			if err != nil {
				continue
			}
			for lines := bufio.NewScanner(f); lines.Scan(); {
				from, to, uid, ok := parseTCPRow(lines.Text())
				switch {
				case !ok:
				case from == peer && to == local:
					_ = f.Close()
					return uid, peerFound
				case from == local && to == peer:
					answer = peerMissing
				}
			}
			_ = f.Close()
		}
	}
	return 0, answer
}

// parseTCPRow parses a line of /proc/net/tcp or tcp6. It skips sockets without an inode: they are
// closed, and their uid is not meaningful.
func parseTCPRow(line string) (local, remote netip.AddrPort, uid int, ok bool) {
	col := strings.Fields(line)
	if len(col) < 10 || col[9] == "0" {
		return local, remote, 0, false
	}
	local, ok1 := parseTCPAddress(col[1])
	remote, ok2 := parseTCPAddress(col[2])
	uid, err := strconv.Atoi(col[7])
	return local, remote, uid, ok1 && ok2 && err == nil
}

// parseTCPAddress parses the kernel's notation of an address: 32-bit words in native byte order,
// and the port.
func parseTCPAddress(s string) (netip.AddrPort, bool) {
	words, hexPort, _ := strings.Cut(s, ":")
	raw, err := hex.DecodeString(words)
	port, perr := strconv.ParseUint(hexPort, 16, 16)
	if err != nil || perr != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	ip, ok := netip.AddrFromSlice(raw)
	return unmapAddrPort(netip.AddrPortFrom(ip, uint16(port))), ok
}

func unmapAddrPort(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
