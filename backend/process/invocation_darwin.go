package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// InvocationOf returns how a process of this user was started. See environVariable for the layout of
// kern.procargs2.
func InvocationOf(pid int) (Invocation, error) {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return Invocation{}, err
	}
	if len(raw) < 4 {
		return Invocation{}, errors.New("the system does not tell how the process was started")
	}
	count := int(binary.LittleEndian.Uint32(raw))
	path, rest, _ := bytes.Cut(raw[4:], []byte{0})
	all := strings.Split(string(bytes.TrimLeft(rest, "\x00")), "\x00")
	if count > len(all) {
		return Invocation{}, errors.New("the system does not tell how the process was started")
	}
	env := all[count:]
	for i, kv := range env {
		if kv == "" { // the end of the environment; what follows is of the system
			env = env[:i]
			break
		}
	}
	return Invocation{Path: string(path), Args: all[:count], Env: env}, nil
}
