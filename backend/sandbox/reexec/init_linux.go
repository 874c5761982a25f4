package reexec

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// Constants that package syscall lacks; package golang.org/x/sys/unix is initialized late.
const (
	sysCloseRange           = 436
	sysLandlockRestrictSelf = 446
	closeRangeOnExec        = 4
	prCapBSetDrop           = 24
	prSetNoNewPrivs         = 38
	seccompModeFilter       = 2
	capabilityVersion       = 0x20080522 // with sets of 64 capabilities
	filterInstruction       = 8          // bytes
	maxFilter               = 4096 * filterInstruction
)

func init() {
	maxProcs, wanted := os.LookupEnv(Variable)
	if !wanted || len(os.Args) < 2 {
		return
	}
	runtime.LockOSThread()
	os.Unsetenv(Variable)
	os.Unsetenv("GOMAXPROCS")
	if maxProcs != "" {
		os.Setenv("GOMAXPROCS", maxProcs)
	}
	what := "receive its rules"
	ruleset, filter, err := receiveRules()
	if err == 0 {
		what, err = confine(ruleset, filter)
	}
	if err == 0 {
		what = "execute it"
		err = errno(syscall.Exec(os.Args[1], os.Args[1:], os.Environ()))
	}
	os.Stderr.WriteString("cannot start " + os.Args[1] + " in its sandbox: cannot " + what + ": " + err.Error() + "\n")
	os.Exit(Failed)
}

func errno(err error) syscall.Errno {
	number := syscall.EINVAL
	errors.As(err, &number)
	return number
}

// receiveRules waits for the rules of Landlock and the seccomp filter. If the daemon has ended,
// there are none.
func receiveRules() (ruleset uintptr, filter []byte, err syscall.Errno) {
	filter, rights := make([]byte, maxFilter), make([]byte, syscall.CmsgSpace(4))
	for {
		n, length, flags, _, err := syscall.Recvmsg(Descriptor, filter, rights, syscall.MSG_CMSG_CLOEXEC)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return 0, nil, errno(err)
		}
		messages, err := syscall.ParseSocketControlMessage(rights[:length])
		if err != nil || len(messages) != 1 || flags&(syscall.MSG_TRUNC|syscall.MSG_CTRUNC) != 0 {
			return 0, nil, syscall.EINVAL
		}
		list, err := syscall.ParseUnixRights(&messages[0])
		if err != nil || len(list) != 1 {
			return 0, nil, syscall.EINVAL
		}
		return uintptr(list[0]), filter[:n], 0
	}
}

// confine confines the calling thread and the program that it executes. Programs that are started
// later gain no privileges from setuid. It returns what failed.
func confine(ruleset uintptr, filter []byte) (what string, err syscall.Errno) {
	if _, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); err != 0 {
		return "set no_new_privs", err
	}
	if _, _, err := syscall.RawSyscall(sysLandlockRestrictSelf, ruleset, 0, 0); err != 0 {
		return "apply the Landlock rules", err
	}
	syscall.Close(Descriptor)
	syscall.Close(int(ruleset))
	if err := dropCapabilities(); err != 0 {
		return "drop root privileges", err
	}
	// If this fails, which Linux 5.11 introduced, the daemon has marked its descriptors itself.
	_, _, _ = syscall.RawSyscall(sysCloseRange, Descriptor, 0xffffffff, closeRangeOnExec)
	if len(filter) == 0 {
		return "", 0
	}
	program := struct {
		length uint16
		code   *byte
	}{uint16(len(filter) / filterInstruction), unsafe.SliceData(filter)}
	if _, _, err := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_SECCOMP, seccompModeFilter, uintptr(unsafe.Pointer(&program))); err != 0 {
		return "install the seccomp filter that blocks sockets", err
	}
	return "", 0
}

// keptCapabilities are what root keeps, by number: as in a container of Docker. Most others, such
// as CAP_SYS_ADMIN and CAP_SYS_RAWIO, reach around the rules, for example through the memory of the
// kernel.
const keptCapabilities = 1<<0 | 1<<1 | 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID
	1<<8 | 1<<10 | 1<<13 | 1<<18 | 1<<27 | 1<<29 | 1<<31 // SETPCAP, NET_BIND_SERVICE, NET_RAW, SYS_CHROOT, MKNOD, AUDIT_WRITE, SETFCAP

// dropCapabilities gives up the other capabilities, which only root has.
func dropCapabilities() syscall.Errno {
	for number := range uintptr(64) {
		if keptCapabilities>>number&1 == 0 { // without this, executing a program gives them back to root
			_, _, err := syscall.RawSyscall(syscall.SYS_PRCTL, prCapBSetDrop, number, 0)
			if err != 0 { // EINVAL after the last one that the kernel knows, EPERM if there is nothing to give up
				break
			}
		}
	}
	header := struct{ version, pid uint32 }{version: capabilityVersion}
	var sets [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, err := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0); err != 0 {
		return err
	}
	for i := range sets {
		kept := uint32(keptCapabilities >> (32 * i))
		sets[i].effective &= kept
		sets[i].permitted &= kept
		sets[i].inheritable &= kept
	}
	_, _, err := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
	return err
}
