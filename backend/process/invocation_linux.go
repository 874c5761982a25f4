package process

import (
	"os"
	"strconv"
	"strings"
)

// InvocationOf returns how a process of this user was started.
func InvocationOf(pid int) (Invocation, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	line, err := os.ReadFile(dir + "/cmdline")
	if err != nil {
		return Invocation{}, err
	}
	environ, err := os.ReadFile(dir + "/environ")
	if err != nil {
		return Invocation{}, err
	}
	path, err := os.Readlink(dir + "/exe")
	return Invocation{Path: path, Args: zeroTerminated(line), Env: zeroTerminated(environ)}, err
}

func zeroTerminated(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}
