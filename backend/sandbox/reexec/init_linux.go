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
	prSetNoNewPrivs         = 38
	seccompModeFilter       = 2
	filterInstruction       = 8 // bytes
)

func init() {
	filter, wanted := os.LookupEnv(Variable)
	if !wanted || len(os.Args) < 2 {
		return
	}
	runtime.LockOSThread()
	os.Unsetenv(Variable)
	what, err := confine(filter)
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

// confine confines the calling thread and the program that it executes. Programs that are started
// later gain no privileges from setuid. It returns what failed.
func confine(filter string) (what string, err syscall.Errno) {
	if _, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); err != 0 {
		return "set no_new_privs", err
	}
	if _, _, err := syscall.RawSyscall(sysLandlockRestrictSelf, Descriptor, 0, 0); err != 0 {
		return "apply the rules of Landlock", err
	}
	syscall.Close(Descriptor)
	// If this fails, which Linux 5.11 introduced, the daemon has marked its descriptors itself.
	_, _, _ = syscall.RawSyscall(sysCloseRange, Descriptor, 0xffffffff, closeRangeOnExec)
	if filter == "" {
		return "", 0
	}
	code := make([]byte, len(filter)/2)
	for i := range code {
		high, low := digit(filter[2*i]), digit(filter[2*i+1])
		if high > 15 || low > 15 {
			return "read the seccomp filter", syscall.EINVAL
		}
		code[i] = high<<4 | low
	}
	program := struct {
		length uint16
		code   *byte
	}{uint16(len(code) / filterInstruction), unsafe.SliceData(code)}
	if _, _, err := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_SECCOMP, seccompModeFilter, uintptr(unsafe.Pointer(&program))); err != 0 {
		return "install the seccomp filter that blocks sockets", err
	}
	return "", 0
}

func digit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}
