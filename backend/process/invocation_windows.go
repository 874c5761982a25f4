package process

import (
	"errors"
	"strings"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

// maxInvocation limits the bytes of one part of an Invocation.
const maxInvocation = 1 << 20

// InvocationOf returns how a process of this user was started, which Windows keeps in the memory of the
// process.
func InvocationOf(pid int) (Invocation, error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION|windows.PROCESS_VM_READ, false, uint32(pid))
	if err != nil {
		return Invocation{}, err
	}
	defer windows.CloseHandle(h)
	var basic windows.PROCESS_BASIC_INFORMATION
	if err := windows.NtQueryInformationProcess(h, windows.ProcessBasicInformation, unsafe.Pointer(&basic), uint32(unsafe.Sizeof(basic)), nil); err != nil {
		return Invocation{}, err
	}
	var peb windows.PEB
	if err := readMemory(h, uintptr(unsafe.Pointer(basic.PebBaseAddress)), unsafe.Pointer(&peb), unsafe.Sizeof(peb)); err != nil {
		return Invocation{}, err
	}
	var params windows.RTL_USER_PROCESS_PARAMETERS
	if err := readMemory(h, uintptr(unsafe.Pointer(peb.ProcessParameters)), unsafe.Pointer(&params), unsafe.Sizeof(params)); err != nil {
		return Invocation{}, err
	}
	text := func(s windows.NTUnicodeString) (string, error) {
		return readText(h, uintptr(unsafe.Pointer(s.Buffer)), uintptr(s.Length))
	}
	var inv Invocation
	if inv.Path, err = text(params.ImagePathName); err != nil {
		return Invocation{}, err
	}
	line, err := text(params.CommandLine)
	if err != nil {
		return Invocation{}, err
	}
	if inv.Args, err = windows.DecomposeCommandLine(line); err != nil {
		return Invocation{}, err
	}
	block, err := readText(h, uintptr(params.Environment), params.EnvironmentSize)
	for kv := range strings.SplitSeq(block, "\x00") {
		if kv == "" {
			break
		}
		if !strings.HasPrefix(kv, "=") { // the current folder of a drive
			inv.Env = append(inv.Env, kv)
		}
	}
	return inv, err
}

func readText(h windows.Handle, at, size uintptr) (string, error) {
	if size == 0 {
		return "", nil
	}
	if size > maxInvocation {
		return "", errors.New("the invocation of the process is too long")
	}
	text := make([]uint16, (size+1)/2)
	if err := readMemory(h, at, unsafe.Pointer(&text[0]), size); err != nil {
		return "", err
	}
	return string(utf16.Decode(text)), nil
}

func readMemory(h windows.Handle, at uintptr, to unsafe.Pointer, size uintptr) error {
	var n uintptr
	if err := windows.ReadProcessMemory(h, at, (*byte)(to), size, &n); err != nil {
		return err
	}
	if n != size {
		return errors.New("cannot read the memory of the process")
	}
	return nil
}
