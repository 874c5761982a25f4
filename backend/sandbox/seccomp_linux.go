package sandbox

import (
	"encoding/binary"
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

// Offsets in struct seccomp_data on little-endian machines. Those of arguments are of their low
// halves.
const (
	offsetSyscall = 0
	offsetArch    = 4
	offsetFirst   = 16
	offsetSecond  = 24
	offsetThird   = 32
	offsetFourth  = 40
)

// x32Bit marks a system call of the x32 interface of amd64.
const x32Bit = 0x40000000

// tiocLinux is the ioctl of virtual consoles that can paste.
const tiocLinux = 0x541c

// instructions builds a seccomp filter. Each step loads what it compares, and falls through if it
// does not apply.
type instructions []unix.SockFilter

func (f *instructions) add(code uint16, value uint32, yes, no int) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: uint8(yes), Jf: uint8(no), K: value})
}

func (f *instructions) load(offset uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (f *instructions) ret(value uint32)   { f.add(unix.BPF_RET|unix.BPF_K, value, 0, 0) }

// returnIf returns value if the loaded word is one of words.
func (f *instructions) returnIf(value uint32, words ...uint32) {
	for i, word := range words {
		f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, word, len(words)-1-i, 0)
	}
	// The last comparison skips the return if it does not match.
	(*f)[len(*f)-1].Jf = 1
	f.ret(value)
}

// forSyscall runs then only for the given system call, with its number loaded before and after.
func (f *instructions) forSyscall(number uint32, then func(*instructions)) {
	var part instructions
	then(&part)
	part.load(offsetSyscall)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, number, 0, len(part))
	*f = append(*f, part...)
}

// seccompFilter returns a filter for what Landlock lets pass; nil if there is none for this
// machine. It refuses the keys that the kernel keeps for the user, typing into terminals (TIOCSTI),
// changing limits of other processes, which can end them, the kernel's messages, BPF, observing the
// kernel by perf, loading code into it, and system calls of other interfaces, such as those of
// 32-bit programs, which have other numbers.
//
// Without network, it refuses all sockets but local ones; with ports, it permits those of IP,
// except MPTCP, which falls back to TCP, and SCTP, and refuses to connect with the first data (TCP
// Fast Open). Without Unix sockets, it refuses those, except pairs, but not those of datagrams,
// which can be sent elsewhere, and listening, which Landlock does for bound ports only. In all of
// these cases, it refuses io_uring, which opens sockets unseen by filters.
func seccompFilter(r Rules) []byte {
	if !filtersSockets() {
		return nil
	}
	refused := func(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }
	var f instructions
	f.load(offsetArch)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, auditArch(), 1, 0)
	f.ret(refused(unix.EACCES))
	f.load(offsetSyscall)
	f.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, x32Bit, 0, 1)
	f.ret(refused(unix.ENOSYS))
	f.returnIf(refused(unix.ENOSYS), unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY)
	f.returnIf(refused(unix.EPERM), unix.SYS_SYSLOG, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD)
	f.forSyscall(unix.SYS_IOCTL, func(f *instructions) {
		f.load(offsetSecond)
		f.returnIf(refused(unix.EPERM), unix.TIOCSTI, tiocLinux)
	})
	f.forSyscall(unix.SYS_PRLIMIT64, func(f *instructions) {
		f.load(offsetFirst)
		f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 1, 0) // the program itself
		f.ret(refused(unix.EPERM))
	})
	if r.NoNetwork || r.NoUnixSockets {
		f.returnIf(refused(unix.ENOSYS), unix.SYS_IO_URING_SETUP)
	}
	if r.NoNetwork && r.NoUnixSockets {
		f.returnIf(refused(unix.EACCES), unix.SYS_LISTEN)
	}
	if r.NoNetwork && len(r.Ports) > 0 {
		for call, flags := range map[uint32]uint32{unix.SYS_SENDTO: offsetFourth, unix.SYS_SENDMSG: offsetThird, unix.SYS_SENDMMSG: offsetFourth} {
			f.forSyscall(call, func(f *instructions) {
				f.load(flags)
				f.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, unix.MSG_FASTOPEN, 0, 1)
				f.ret(refused(unix.EOPNOTSUPP)) // programs then connect first
			})
		}
	}
	if r.NoUnixSockets {
		f.forSyscall(unix.SYS_SOCKETPAIR, func(f *instructions) {
			const typeMask = 0xf // the rest of the argument are flags
			f.load(offsetSecond)
			f.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, typeMask, 0, 0)
			f.returnIf(refused(unix.EACCES), unix.SOCK_DGRAM, unix.SOCK_RAW)
		})
	}
	f.forSyscall(unix.SYS_SOCKET, func(f *instructions) { f.limitSockets(r, refused(unix.EACCES)) })
	f.ret(unix.SECCOMP_RET_ALLOW)

	var code []byte
	for _, one := range f {
		code = binary.NativeEndian.AppendUint16(code, one.Code)
		code = append(code, one.Jt, one.Jf)
		code = binary.NativeEndian.AppendUint32(code, one.K)
	}
	return code
}

// limitSockets decides about a socket by its family and protocol.
func (f *instructions) limitSockets(r Rules, refused uint32) {
	f.load(offsetFirst)
	if r.NoUnixSockets {
		f.returnIf(refused, unix.AF_UNIX)
	}
	if !r.NoNetwork {
		return
	}
	f.returnIf(unix.SECCOMP_RET_ALLOW, unix.AF_UNIX, unix.AF_NETLINK) // programs ask for the list of interfaces by netlink
	if len(r.Ports) == 0 {
		f.ret(refused)
		return
	}
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.AF_INET, 2, 0)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.AF_INET6, 1, 0)
	f.ret(refused)
	f.load(offsetThird)
	f.returnIf(refused, unix.IPPROTO_MPTCP, unix.IPPROTO_SCTP)
}
