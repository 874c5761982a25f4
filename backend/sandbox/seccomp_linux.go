package sandbox

import (
	"encoding/binary"
	"encoding/hex"
	"runtime"

	"golang.org/x/sys/unix"
)

// auditArch is the architecture in the data of seccomp filters; 0 if there is no filter for it.
func auditArch() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	}
	return 0
}

// Offsets in struct seccomp_data on little-endian machines.
const (
	offsetSyscall  = 0
	offsetArch     = 4
	offsetDomain   = 16 // the low half of the first argument
	offsetProtocol = 32
	offsetFlags2   = 32 // the low halves of the third and fourth arguments
	offsetFlags3   = 40
)

// x32Bit marks a system call of the x32 interface of amd64.
const x32Bit = 0x40000000

// socketFilter returns a seccomp filter that refuses sockets, in hexadecimal digits, because Landlock
// lets MPTCP, which falls back to TCP, and everything that is not TCP pass; "" if the rules need
// none. Without ports, it refuses all sockets but local ones; with ports, it permits those of IP, except
// MPTCP and SCTP, and refuses to connect with the first data (TCP Fast Open), which Landlock does not
// see. It also refuses io_uring, which opens sockets unseen by filters, and system calls of other
// interfaces, such as those of 32-bit programs.
func socketFilter(r Rules) string {
	if !r.NoNetwork || !filtersSockets() {
		return ""
	}
	deny := uint32(unix.SECCOMP_RET_ERRNO | int(unix.EACCES))
	absent := uint32(unix.SECCOMP_RET_ERRNO | int(unix.ENOSYS))
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	is := func(value uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: yes, Jf: no}
	}
	ret := func(value uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value} }
	filter := []unix.SockFilter{
		load(offsetArch),
		is(auditArch(), 1, 0),
		ret(deny),
		load(offsetSyscall),
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: x32Bit, Jt: 0, Jf: 1},
		ret(absent),
		is(unix.SYS_IO_URING_SETUP, 0, 1),
		ret(absent),
	}
	if len(r.Ports) > 0 {
		filter = append(filter,
			is(unix.SYS_SENDTO, 2, 0),
			is(unix.SYS_SENDMMSG, 1, 0),
			is(unix.SYS_SENDMSG, 2, 6),
			load(offsetFlags3),
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: 1},
			load(offsetFlags2),
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.MSG_FASTOPEN, Jt: 0, Jf: 1},
			ret(unix.SECCOMP_RET_ERRNO|uint32(unix.EOPNOTSUPP)), // programs then connect first
			ret(unix.SECCOMP_RET_ALLOW),
		)
	}
	filter = append(filter, is(unix.SYS_SOCKET, 1, 0), ret(unix.SECCOMP_RET_ALLOW), load(offsetDomain))
	if len(r.Ports) > 0 {
		filter = append(filter,
			is(unix.AF_UNIX, 3, 0),
			is(unix.AF_NETLINK, 2, 0), // programs ask for the list of interfaces with it
			is(unix.AF_INET, 2, 0),
			is(unix.AF_INET6, 1, 4),
			ret(unix.SECCOMP_RET_ALLOW),
			load(offsetProtocol),
			is(unix.IPPROTO_MPTCP, 1, 0),
			is(unix.IPPROTO_SCTP, 0, 1),
			ret(deny),
			ret(unix.SECCOMP_RET_ALLOW),
		)
	} else {
		filter = append(filter,
			is(unix.AF_UNIX, 1, 0),
			is(unix.AF_NETLINK, 0, 1),
			ret(unix.SECCOMP_RET_ALLOW),
			ret(deny),
		)
	}
	var code []byte
	for _, one := range filter {
		code = binary.NativeEndian.AppendUint16(code, one.Code)
		code = append(code, one.Jt, one.Jf)
		code = binary.NativeEndian.AppendUint32(code, one.K)
	}
	return hex.EncodeToString(code)
}
