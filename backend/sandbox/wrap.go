package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// variable holds the rules of the program that this one executes in its place.
const variable = "DRAWBRIDGE_SANDBOX"

// failed is the exit status of a program that could not be confined.
const failed = 126

// Wrap returns the command that confines itself and then executes path with args. Its environment
// must contain env in addition. It is this program, which therefore must import this package: the
// confinement happens before main, and before most packages are initialized, because it delays each
// start. A thread of the daemon that confines itself and starts the program would be faster, but the
// program could attach to that thread, and so to the daemon.
func Wrap(r Rules, path string, args []string) (self string, wrapped []string, env string, err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", nil, "", fmt.Errorf("cannot write the rules of the sandbox: %w", err)
	}
	return selfPath, append([]string{path}, args...), variable + "=" + string(text), nil
}

func init() {
	text, wrapped := os.LookupEnv(variable)
	if !wrapped || len(os.Args) < 2 {
		return
	}
	runtime.LockOSThread()
	os.Unsetenv(variable)
	var r Rules
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		err = restrict(r)
	}
	if err == nil {
		err = syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
	}
	fmt.Fprintf(os.Stderr, "cannot start %s in its sandbox: %v\n", os.Args[1], err)
	os.Exit(failed)
}
